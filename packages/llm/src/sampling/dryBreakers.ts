import type { Tokenizer } from "../tokenizer/tokenizer.ts";

const known = new WeakMap<Tokenizer, Map<string, readonly (readonly number[])[]>>();

/**
 * The id sequences that contain one of the texts: each token that has it within, and each token that ends with its beginning, followed
 * by the tokens of its rest.
 */
export function breakerSequences(tokenizer: Tokenizer, texts: readonly string[]): readonly (readonly number[])[] {
  const cache = known.get(tokenizer) ?? new Map<string, readonly (readonly number[])[]>();
  known.set(tokenizer, cache);
  const key = JSON.stringify(texts);
  const sequences = cache.get(key) ?? texts.flatMap((text) => sequencesOf(tokenizer, text));
  cache.set(key, sequences);
  return sequences;
}

function sequencesOf(tokenizer: Tokenizer, text: string): number[][] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const rests = Array.from(text, (_, i) => Array.from(tokenizer.encode(text.slice(i), { addSpecial: false })));
  const sequences: number[][] = [];
  for (let id = 0; id < tokenizer.vocabSize; id++) {
    const word = decoder.decode(tokenizer.tokenBytes(id));
    if (word.includes(text)) sequences.push([id]);
    else for (let size = 1; size < text.length; size++) if (word.endsWith(text.slice(0, size))) sequences.push([id, ...rests[size]!]);
  }
  return sequences;
}
