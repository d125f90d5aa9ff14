// Serves a model over the APIs of OpenAI, Anthropic and Ollama: deno run -A main.ts [MODEL]
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";
import { createHandler } from "@centella/server";

const runtime = await createRuntime({ backends: [wasm()] });
const story = await loadModel(Deno.args[0] ?? fable, { runtime, sequences: 4 });
const { fetch } = createHandler({ models: { story } });

Deno.serve({ port: Number(Deno.env.get("PORT") ?? 8080), onListen: ({ port }) => console.log(`http://localhost:${port}`) }, fetch);
