import * as z from "zod/mini";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

const tokenizeFields = {
  model: z.optional(z.string()),
  content: z.string(),
  /** Add the tokens that begin and end a text for this model. Default false. */
  add_special: z.optional(z.boolean()),
  /** Whether the text of control tokens counts as these tokens. Default true. */
  parse_special: z.optional(z.boolean()),
  /** Give the text of each token, too. */
  with_pieces: z.optional(z.boolean()),
};

export const tokenize: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/tokenize"],
  summary: "Ids of the tokens of a text.",
  fields: { used: tokenizeFields },
  async handle(
    { services, signal },
    { model: name, content, add_special: addSpecial = false, parse_special: parseSpecial = true, with_pieces: withPieces },
  ) {
    const tokens = await services.models.with(name, async ({ model: { tokenizer } }) => {
      const ids = [...(await tokenizer.encodeAsync(content, { addSpecial, parseSpecial, signal }))];
      return withPieces ? ids.map((id) => ({ id, piece: pieceOf(tokenizer.tokenBytes(id)) })) : ids;
    });
    return json({ tokens });
  },
});

/** Text, or bytes that are no text. */
function pieceOf(bytes: Uint8Array): string | readonly number[] {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [...bytes];
  }
}

const detokenizeFields = { model: z.optional(z.string()), tokens: z.array(z.int().check(z.minimum(0))) };

export const detokenize: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/detokenize"],
  summary: "The text of tokens.",
  fields: { used: detokenizeFields },
  async handle({ services }, { model: name, tokens }) {
    const content = await services.models.with(name, ({ model }) => model.tokenizer.decode(tokens, { skipSpecial: false }));
    return json({ content });
  },
});
