import * as z from "zod/mini";
import { embeddingsOf } from "../generation/embeddings.ts";
import { json, type Route, route } from "../http/route.ts";
import { nanoseconds } from "./answerLines.ts";
import { ignoredFields, modelField, modelName } from "./fields.ts";
import { ollamaForm } from "./form.ts";

const text = z.string().check(z.minLength(1));
const ignored = { ...ignoredFields, options: z.optional(z.record(z.string(), z.unknown())) };

export const embed: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/embed"],
  summary: "Computes vectors of texts, as Ollama does.",
  fields: {
    used: {
      model: modelField,
      input: z.union([text, z.array(text).check(z.minLength(1), z.maxLength(2048))]),
      dimensions: z.optional(z.int().check(z.minimum(1))),
    },
    // Texts beyond the context are refused, never cut.
    ignored: { ...ignored, truncate: z.optional(z.boolean()) },
  },
  async handle(call, { model, input, dimensions }) {
    const startedAt = performance.now();
    const inputs = typeof input === "string" ? [input] : input;
    const { name, vectors, tokens } = await embeddingsOf(call, { model: modelName(model), inputs, dimensions });
    return json({
      model: name,
      embeddings: vectors.map((vector) => [...vector]),
      total_duration: nanoseconds(performance.now() - startedAt),
      load_duration: 0,
      prompt_eval_count: tokens,
    });
  },
});

export const embeddings: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/embeddings"],
  summary: "Computes the vector of a text, as Ollama did.",
  fields: { used: { model: modelField, prompt: text }, ignored },
  async handle(call, { model, prompt }) {
    const { vectors } = await embeddingsOf(call, { model: modelName(model), inputs: [prompt] });
    return json({ embedding: [...vectors[0]!] });
  },
});
