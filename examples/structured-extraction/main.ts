// Extracts orders from e-mails, one line of JSON each: node main.ts [MODEL]
import { argv } from "node:process";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";
import { z } from "zod";

const Order = z.object({
  customer: z.string().min(1).max(30).describe("Name of the person who writes"),
  priority: z.enum(["low", "normal", "urgent"]),
  items: z
    .array(z.object({ product: z.string().min(1).max(30), quantity: z.int().min(1).max(99) }))
    .min(1)
    .max(3),
});

const mails = [
  "Hi, this is Ada. Could I have two lanterns and a rope by tomorrow? It is urgent.",
  "Dear shop, please send one teapot whenever you can. Kind regards, Tom",
];

const runtime = await createRuntime({ backends: [wasm()] });
const model = await loadModel(argv[2] ?? fable, { runtime });
for (const mail of mails) {
  const prompt = `Extract the order from this e-mail as JSON.\n\n${mail}`;
  const { value, complete } = await model.createSession().complete(prompt, { format: { schema: Order }, temperature: 0, maxTokens: 400 });
  // An answer that was cut short has no value. A value has the type of the schema.
  if (value === undefined)
    console.error(`expected a complete order, got ${complete ? "an invalid one" : "one that was cut short"}: ${mail}`);
  else console.log(JSON.stringify(value));
}
await runtime.dispose();
