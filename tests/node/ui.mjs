// The AI SDK at both ends of a UI message stream.
//
// `node ui.mjs VERSION read < streams.json` gives for each stream, a string of server-sent events,
// {message, errors, refused}: what `useChat` would hold in the end, what it would be told of, and
// the chunks that the schema does not accept.
// `node ui.mjs VERSION make < scripts.json` gives for each script the stream that a server sends.
// A script is {steps, tools}: what a model says in each step, and what each tool answers.
// `node ui.mjs VERSION stored < histories.json` gives for each list of UI messages {refused, sent}:
// what the SDK objects to, and the messages that it would send to a model.

const version = Number(process.argv[2]);
const sdk = await import(`ai${version}`);

globalThis.AI_SDK_LOG_WARNINGS = false;
console.warn = () => {};
console.error = () => {};

// -- reading, as DefaultChatTransport and useChat do ---------------------------------------------

async function read(text) {
  const seen = { message: null, errors: [], refused: [] };
  const bytes = new Blob([text]).stream();
  const parsed = sdk.parseJsonEventStream({ stream: bytes, schema: sdk.uiMessageChunkSchema });
  const chunks = parsed.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (chunk.success) controller.enqueue(chunk.value);
        else seen.refused.push(JSON.stringify(chunk.rawValue) ?? chunk.error.message);
      },
    }),
  );
  const onError = (error) => seen.errors.push(error.message);
  for await (const message of sdk.readUIMessageStream({ stream: chunks, onError })) {
    seen.message = message;
  }
  return seen;
}

// -- making, as a route handler does ---------------------------------------------------------------

function finish(reason) {
  const usage = { inputTokens: 9, outputTokens: 4, totalTokens: 13 };
  if (version === 5) return { type: "finish", finishReason: reason, usage };
  return {
    type: "finish",
    finishReason: { unified: reason, raw: reason },
    usage: { inputTokens: { total: 9 }, outputTokens: { total: 4 } },
  };
}

function scripted(steps) {
  const rest = [...steps];
  return {
    specificationVersion: `v${version - 3}`,
    provider: "script",
    modelId: "script",
    supportedUrls: {},
    doStream: async () => {
      const parts = rest.shift().map((part) => (part.finish ? finish(part.finish) : part));
      return { stream: sdk.simulateReadableStream({ chunks: parts, chunkDelayInMs: null }) };
    },
  };
}

function toolsOf(answers) {
  const tools = {};
  for (const [name, answer] of Object.entries(answers)) {
    tools[name] = { inputSchema: sdk.jsonSchema({ type: "object" }) };
    if (answer === null) continue; // the client's to run
    tools[name].execute = async () => {
      if (answer.error) throw new Error(answer.error);
      return answer.output;
    };
  }
  return tools;
}

async function make({ steps, tools, data }) {
  const stream = sdk.createUIMessageStream({
    generateId: () => "msg-9",
    execute: ({ writer }) => {
      for (const part of data ?? []) writer.write(part);
      const result = sdk.streamText({
        model: scripted(steps),
        tools: toolsOf(tools ?? {}),
        prompt: "Hi",
        stopWhen: sdk.stepCountIs(steps.length),
        maxRetries: 0,
        onError: () => {},
      });
      const settings = { sendSources: true, sendReasoning: true };
      writer.merge(result.toUIMessageStream({ ...settings, onError: (error) => error.message }));
    },
  });
  let text = "";
  for await (const event of stream.pipeThrough(new sdk.JsonToSseTransformStream())) text += event;
  return text;
}

// -- stored messages, as a route handler gets them --------------------------------------------------

async function stored(messages) {
  try {
    const valid = await sdk.validateUIMessages({ messages });
    return { refused: null, sent: await sdk.convertToModelMessages(valid) };
  } catch (error) {
    return { refused: String(error.message), sent: null };
  }
}

let input = "";
for await (const chunk of process.stdin) input += chunk;
const answers = [];
const ways = { make, read, stored };
for (const given of JSON.parse(input)) {
  answers.push(await ways[process.argv[3]](given));
}
process.stdout.write(JSON.stringify(answers));
