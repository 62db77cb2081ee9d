// The AI SDK as judge: `node judge.mjs VERSION < documents.json` prints what it objects to.
//
// A document is {name, facet, body}. Two things are asked of each: do the official schemas accept
// it, and know every key of it; and does `generateText` itself take it, up to the call that a
// provider would receive. No model is asked, nothing is downloaded.

import { isDeepStrictEqual } from "node:util";

const version = Number(process.argv[2]);
const sdk = await import(`ai${version}`);
const schema = version === 4 ? sdk.coreMessageSchema : sdk.modelMessageSchema;

globalThis.AI_SDK_LOG_WARNINGS = false;
console.warn = () => {};
globalThis.fetch = () => {
  throw new Error("nothing is downloaded here");
};

// In the types of version 4, and used by it, but not in its schema.
const UNTYPED = version === 4 ? ["signature", "experimental_content"] : [];

function typed(value) {
  if (Array.isArray(value)) return value.map(typed);
  if (value === null || typeof value !== "object") return value;
  const known = Object.entries(value).filter(([key]) => !UNTYPED.includes(key));
  return Object.fromEntries(known.map(([key, item]) => [key, typed(item)]));
}

// Parsing leaves out what a schema does not know, so what comes out must be what went in.
function judgeMessages(messages) {
  for (const [index, message] of messages.entries()) {
    const parsed = schema.safeParse(message);
    if (!parsed.success) return `message ${index}: ${parsed.error.message}`;
    if (!isDeepStrictEqual(typed(parsed.data), typed(message))) {
      return `message ${index} has keys that the schema does not know`;
    }
  }
  return null;
}

// A model that takes the call and answers nothing.
function model(calls) {
  return {
    specificationVersion: `v${version - 3}`,
    provider: "judge",
    modelId: "judge",
    defaultObjectGenerationMode: "json",
    supportsImageUrls: true,
    supportsUrl: () => true,
    supportedUrls: { "*": [/.*/], "*/*": [/.*/] },
    doGenerate: async (options) => {
      calls.push(options);
      throw new Error("taken");
    },
  };
}

const SETTINGS = [
  "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty", "stopSequences", "seed",
  "maxOutputTokens", "maxTokens", "reasoning", "providerOptions",
]; // prettier-ignore
const OURS = ["model", "tools", "responseFormat"]; // said to a provider, not to generateText

function toolsOf(list) {
  const tools = {};
  for (const tool of list) {
    if (tool.type !== "function") continue;
    const given = tool.inputSchema ?? tool.parameters;
    const made = { description: tool.description, strict: tool.strict };
    made[version === 4 ? "parameters" : "inputSchema"] = sdk.jsonSchema(given);
    tools[tool.name] = made;
  }
  return tools;
}

async function judgeRequest(request) {
  const calls = [];
  const rest = Object.fromEntries(Object.entries(request).filter(([key]) => !OURS.includes(key)));
  const settings = { ...rest, model: model(calls), maxRetries: 0 };
  settings.experimental_download = async (urls) => urls.map(() => null);
  if (request.tools?.length) settings.tools = toolsOf(request.tools);
  try {
    await sdk.generateText(settings);
  } catch (error) {
    if (calls.length === 0) throw error;
  }
  const given = version === 4 ? { ...calls[0], ...calls[0].mode } : calls[0];
  for (const key of SETTINGS) {
    if (!(key in request)) continue;
    const name = version === 4 && key === "providerOptions" ? "providerMetadata" : key;
    if (!isDeepStrictEqual(given[name], request[key])) return `${key} does not arrive`;
  }
  if (request.toolChoice !== undefined && settings.tools !== undefined) {
    const choice = request.toolChoice;
    const wanted = typeof choice === "string" ? { type: choice } : choice;
    if (!isDeepStrictEqual(given.toolChoice, wanted)) return "toolChoice does not arrive";
  }
  return null;
}

async function judgeResponse(body) {
  const response = { ...body, response: { ...body.response } };
  if (body.response?.timestamp !== undefined) {
    response.response.timestamp = new Date(body.response.timestamp); // in a document, a string
  }
  const calls = [...(response.content ?? []), ...(response.toolCalls ?? [])];
  const names = calls.map((call) => call.toolName).filter((name) => name !== undefined);
  const tools = toolsOf(names.map((name) => ({ type: "function", name, inputSchema: {} })));
  const answering = { ...model([]), doGenerate: async () => response };
  const result = await sdk.generateText({ model: answering, tools, prompt: "Hi", maxRetries: 0 });
  const texts = (response.content ?? []).filter((part) => part.type === "text");
  const text = version === 4 ? (response.text ?? "") : texts.map((part) => part.text).join("");
  return result.text === text ? null : "the text does not arrive";
}

// Errors are thrown: that they are is judged where they come in a stream.
const isError = (body) => body.type === "error";

function dated(part) {
  const dates = part.type === "response-metadata" && part.timestamp !== undefined;
  return dates ? { ...part, timestamp: new Date(part.timestamp) } : part;
}

// A stream is {parts, text, calls}: `streamText` must make the text and the calls of the parts.
async function judgeStream({ parts, text, calls, error }) {
  const stream = new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(dated(part));
      controller.close();
    },
  });
  const answering = {
    ...model([]),
    doStream: async () => ({ stream, rawCall: { rawPrompt: null, rawSettings: {} } }),
  };
  const names = parts.map((part) => part.toolName).filter((name) => name !== undefined);
  const tools = toolsOf(names.map((name) => ({ type: "function", name, inputSchema: {} })));
  const errors = [];
  const onError = ({ error }) => void errors.push(error);
  const result = sdk.streamText({ model: answering, tools, prompt: "Hi", maxRetries: 0, onError });
  const heard = [];
  const called = [];
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") heard.push(part.textDelta ?? part.text ?? part.delta ?? "");
    if (part.type === "tool-call" && !part.providerExecuted) {
      called.push([part.toolName, part.args ?? part.input]);
    }
  }
  if (error !== undefined) {
    const said = errors.map((found) => found?.message ?? JSON.stringify(found)).join();
    return said.includes(error) ? null : `the error does not arrive: ${said}`;
  }
  if (errors.length) return `${errors[0]?.name}: ${errors[0]?.message}`;
  if (heard.join("") !== text) return `the text is ${JSON.stringify(heard.join(""))}`;
  return isDeepStrictEqual(called, calls) ? null : `the calls are ${JSON.stringify(called)}`;
}

async function judge({ facet, body }) {
  if (facet === "stream") return judgeStream(body);
  if (facet === "response") return isError(body) ? null : judgeResponse(body);
  const request = facet === "messages" ? { messages: body, allowSystemInMessages: true } : body;
  const system = request.instructions ?? request.system ?? [];
  const prompts = typeof system === "string" ? [] : [system].flat();
  return judgeMessages([...prompts, ...request.messages]) ?? (await judgeRequest(request));
}

let input = "";
for await (const chunk of process.stdin) input += chunk;
const verdicts = [];
for (const document of JSON.parse(input)) {
  try {
    verdicts.push(await judge(document));
  } catch (error) {
    verdicts.push(`${error.name}: ${error.message}`);
  }
}
process.stdout.write(JSON.stringify(verdicts));
