import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { createHandler } from "@centella/server";
import OpenAI from "openai";

const runtime = await createRuntime({ backends: [wasm()] });
const story = await loadModel("model.gguf", { runtime });
const handler = createHandler({ models: { story } });

// The client's requests go to the handler, not to the network.
const fetch = (input: string | URL | Request, init?: RequestInit) => handler.fetch(new Request(input, init));
const client = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch });
const { choices } = await client.chat.completions.create({
  model: "story",
  messages: [{ role: "user", content: "Tell me a story about a fox." }],
  max_tokens: 40,
});
console.log(choices[0]?.finish_reason);
await handler.close();
await runtime.dispose();
