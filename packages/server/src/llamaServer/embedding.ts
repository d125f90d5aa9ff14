import * as z from "zod/mini";
import { embeddingsOf } from "../generation/embeddings.ts";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

const text = z.string().check(z.minLength(1));

export const embedding: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/embedding", "/embeddings"],
  summary: "Computes vectors of texts, as llama-server does.",
  fields: { used: { model: z.optional(z.string()), content: z.union([text, z.array(text).check(z.minLength(1), z.maxLength(2048))]) } },
  async handle(call, { model, content }) {
    const { vectors } = await embeddingsOf(call, { model, inputs: typeof content === "string" ? [content] : content });
    return json(vectors.map((vector, index) => ({ index, embedding: [[...vector]] })));
  },
});
