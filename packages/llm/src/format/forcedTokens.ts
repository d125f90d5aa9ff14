import { elementAt } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { controlBytes } from "./markup.ts";

/** Most bytes that are cut into tokens at a time. */
const maxBytes = 512;
const controlLength = controlBytes(0).length;
const controlByte = elementAt(controlBytes(0), 0);

/** The tokens into which the tokenizer cuts bytes of a grammar after the token `last`. Bytes without whole characters have none. */
export function forcedTokens(tokenizer: Tokenizer, forced: Uint8Array, last: number): readonly number[] {
  const ids: number[] = [];
  let rest = forced.subarray(0, maxBytes);
  while (rest.length > 0) {
    const end = rest.indexOf(controlByte);
    const text = decoded(end < 0 ? rest : rest.subarray(0, end));
    if (text === undefined) break;
    ids.push(...tokensAfter(tokenizer, text, ids.at(-1) ?? last));
    if (end < 0 || rest.length < end + controlLength) break;
    ids.push(elementAt(rest, end + 1) | (elementAt(rest, end + 2) << 8) | (elementAt(rest, end + 3) << 16));
    rest = rest.subarray(end + controlLength);
  }
  return ids;
}

/** As many of the tokens as spell a beginning of bytes of a grammar. */
export function spelling(tokenizer: Tokenizer, ids: readonly number[], bytes: Uint8Array): readonly number[] {
  let at = 0;
  const end = ids.findIndex((id) => {
    const spelled = bytes[at] === controlByte ? controlBytes(id) : tokenizer.tokenBytes(id);
    at += spelled.length;
    return at > bytes.length || spelled.some((byte, i) => byte !== bytes[at - spelled.length + i]);
  });
  return end < 0 ? ids : ids.slice(0, end);
}

/** The whole characters of bytes that begin with one; undefined if they do not. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

/**
 * The tokens of a text after the token `last`: those after it in its own text and this one, or else after a line feed, so that the text gets
 * no space in front.
 */
function tokensAfter(tokenizer: Tokenizer, text: string, last: number): readonly number[] {
  const wanted = new TextEncoder().encode(text);
  for (const before of [tokenizer.decode([last]), "\n"]) {
    const ids = encoded(tokenizer, before + text);
    let [from, left] = [ids.length, wanted.length];
    while (left > 0 && from > 0) {
      const bytes = tokenizer.tokenBytes(elementAt(ids, --from));
      left -= bytes.length;
      if (bytes.some((byte, i) => byte !== wanted[left + i])) left = -1;
    }
    if (left === 0) return [...ids.subarray(from)];
  }
  return [];
}

function encoded(tokenizer: Tokenizer, text: string): Int32Array {
  try {
    return tokenizer.encode(text, { addSpecial: false });
  } catch (error) {
    // A vocabulary without tokens for all bytes may still have tokens for the forced ones.
    if (error instanceof TokenizerError) return new Int32Array(0);
    throw error;
  }
}
