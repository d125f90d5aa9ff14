import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";

const schema = {
  type: "object",
  properties: { title: { type: "string", maxLength: 30 }, animals: { type: "array", items: { enum: ["fox", "owl"] }, maxItems: 3 } },
  required: ["title", "animals"],
  additionalProperties: false,
} as const;

const runtime = await createRuntime({ backends: [wasm()] });
const model = await loadModel("model.gguf", { runtime });
const parts = model.createSession().generate("Plan a story.", { format: { schema }, partial: true, temperature: 0, maxTokens: 200 });
for await (const part of parts) {
  if (part.type === "text") console.log(JSON.stringify(part.partial)); // the value so far
  if (part.type === "finish") console.log(part.value?.animals.length); // the value, with the schema's type
}
await runtime.dispose();
