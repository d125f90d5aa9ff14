import * as z from "zod/mini";
import { embeddingsOf } from "../generation/embeddings.ts";
import { json, type Route, route } from "../http/route.ts";
import { nanoseconds } from "./answerLines.ts";
import { ollamaForm } from "./form.ts";
import { keepAliveField, keepModel } from "./keepAlive.ts";
import { modelField, modelName } from "./modelName.ts";

const text = z.string().check(z.minLength(1));
const ignored = { options: z.optional(z.record(z.string(), z.unknown())) };

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
      keep_alive: keepAliveField,
    },
    // Texts beyond the context are refused, never cut.
    ignored: { ...ignored, truncate: z.optional(z.boolean()) },
  },
  async handle(call, body) {
    const { model, input, dimensions } = body;
    keepModel(call, body);
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
  fields: { used: { model: modelField, prompt: text, keep_alive: keepAliveField }, ignored },
  async handle(call, body) {
    const { model, prompt } = body;
    keepModel(call, body);
    const { vectors } = await embeddingsOf(call, { model: modelName(model), inputs: [prompt] });
    return json({ embedding: [...vectors[0]!] });
  },
});
