import { TokenizerError } from "../errors.ts";
import type { Vocabulary } from "./vocabulary.ts";

const encoder = new TextEncoder();

/**
 * A text by the tokens `<0x00>` to `<0xFF>` of its bytes, or, where one of them is missing, by the unknown token.
 * @throws {TokenizerError} if the vocabulary has neither
 */
export function byteTokens(text: string, { ids, unknownId }: Vocabulary): readonly number[] {
  const bytes = Array.from(encoder.encode(text), (byte) => ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
  if (bytes.every((id) => id !== undefined)) return bytes;
  if (unknownId !== undefined) return [unknownId];
  throw new TokenizerError(
    `encode: expected a token for every character, got none for ${JSON.stringify(text)}; the vocabulary has no byte tokens`,
  );
}
