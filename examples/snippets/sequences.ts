import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";

const runtime = await createRuntime({ backends: [wasm()] });
const model = await loadModel("model.gguf", { runtime, sequences: 4 });
const system = { role: "system", content: "You tell stories about animals, in two sentences." };
const animals = ["fox", "owl", "hedgehog", "mouse"];
// Four requests share each run of the model, and the beginning of their prompts is computed once.
const answers = await Promise.all(
  animals.map((animal) =>
    model.createSession({ messages: [system] }).complete(`A story about a ${animal}.`, { maxTokens: 20, temperature: 0 }),
  ),
);
for (const { usage } of answers) console.log(`${usage.completionTokens} tokens`);
await runtime.dispose();
