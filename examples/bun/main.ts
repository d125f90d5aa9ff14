// Serves a model over the APIs of OpenAI, Anthropic and Ollama: bun main.ts [MODEL]
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";
import { createHandler } from "@centella/server";

const runtime = await createRuntime({ backends: [wasm()] });
const story = await loadModel(Bun.argv[2] ?? fable, { runtime, sequences: 4 });
const { fetch } = createHandler({ models: { story } });

// A stream of a slow model may pause for longer than the ten seconds that Bun allows by default.
const { url } = Bun.serve({ port: Number(Bun.env.PORT ?? 8080), idleTimeout: 255, fetch });
console.log(url.origin);
