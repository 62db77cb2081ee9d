// A chat in a page, without the page: `node chat.mjs VERSION URL MODEL TEXT`.
//
// `AbstractChat` is what `useChat` is made of, and `DefaultChatTransport` how it asks its server.
// Tools are run here; the results are sent without being asked to. Prints {messages, error}.

const [version, url, model, text] = process.argv.slice(2);
const sdk = await import(`ai${version}`);

class Chat extends sdk.AbstractChat {
  constructor(init) {
    const state = {
      status: "ready",
      error: undefined,
      messages: [],
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) =>
        void (state.messages = state.messages.map((each, i) => (i === index ? message : each))),
      snapshot: (value) => structuredClone(value),
    };
    super({ ...init, state });
  }
}

const tools = [
  {
    type: "function",
    name: "look",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
  },
];
const chat = new Chat({
  transport: new sdk.DefaultChatTransport({ api: `${url}/ui/chat`, body: { model, tools } }),
  sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithToolCalls,
  onToolCall: ({ toolCall }) => {
    const told = { tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: "14" };
    void (chat.addToolOutput ?? chat.addToolResult).call(chat, told);
  },
});
await chat.sendMessage({
  text,
  files: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }],
});
for (let silent = 0; silent < 6; ) {
  // until nothing more is sent by itself
  await new Promise((resolve) => setTimeout(resolve, 50));
  silent = chat.status === "ready" || chat.status === "error" ? silent + 1 : 0;
}
process.stdout.write(JSON.stringify({ messages: chat.messages, error: chat.error?.message }));
