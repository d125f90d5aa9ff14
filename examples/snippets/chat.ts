import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";

const runtime = await createRuntime({ backends: [wasm()] });
const model = await loadModel("model.gguf", { runtime, contextLength: 1024 });
const session = model.createSession();
for (const question of ["Tell me a story about a fox.", "And then?"]) {
  const parts = session.generate(question, { maxTokens: 40, temperature: 0 });
  for await (const part of parts) if (part.type === "text") process.stdout.write(part.text);
  console.log();
}
console.log(session.messages.map(({ role }) => role).join(" "));
await runtime.dispose();
