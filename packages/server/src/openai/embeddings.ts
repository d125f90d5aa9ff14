import * as z from "zod/mini";
import { tokenIds } from "../fields/shared.ts";
import { embeddingsOf } from "../generation/embeddings.ts";
import type { FieldTable } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "./form.ts";

const text = z.string().check(z.minLength(1));

const used = {
  model: z.optional(z.string()),
  input: z.union([text, tokenIds, z.array(z.union([text, tokenIds])).check(z.minLength(1), z.maxLength(2048))]),
  encoding_format: z.optional(z.enum(["float", "base64"])),
  /** Keep this many elements of each vector, for models that were trained for it. */
  dimensions: z.optional(z.int().check(z.minimum(1))),
  priority: z.optional(z.number()),
};

const fields: FieldTable<typeof used> = { used, ignored: { user: z.optional(z.string()) } };

function base64Of(vector: Float32Array): string {
  const bytes = new Uint8Array(vector.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of vector.entries()) view.setFloat32(i * 4, value, true);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export const embeddings: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/embeddings"],
  summary: "Computes vectors of texts.",
  fields,
  async handle(call, { model, input, encoding_format: encoding = "float", dimensions, priority }) {
    const isOne = typeof input === "string" || input.every((each) => typeof each === "number");
    const inputs = (isOne ? [input] : input) as readonly (string | readonly number[])[];
    const { name, vectors, tokens } = await embeddingsOf(call, { model, inputs, dimensions, priority });
    return json({
      object: "list",
      model: name,
      data: vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: encoding === "base64" ? base64Of(vector) : [...vector],
      })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
  },
});
