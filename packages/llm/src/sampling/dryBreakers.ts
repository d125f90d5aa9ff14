import type { Tokenizer } from "../tokenizer/tokenizer.ts";

type Sequences = readonly (readonly number[])[];

/** The sequences of the last texts that were asked for. */
const known = new WeakMap<Tokenizer, { readonly key: string; readonly sequences: Sequences }>();

/**
 * Id sequences that contain one of the texts: each token that contains the text, and each token that ends with its beginning, followed by
 * the tokens of its rest. Takes time proportional to the vocabulary for each text.
 */
export function breakerSequences(tokenizer: Tokenizer, texts: readonly string[]): Sequences {
  const key = JSON.stringify(texts);
  const last = known.get(tokenizer);
  if (last?.key === key) return last.sequences;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const words = Array.from({ length: tokenizer.vocabSize }, (_, id) => decoder.decode(tokenizer.tokenBytes(id)));
  const sequences = texts.flatMap((text) => sequencesOf(tokenizer, words, text));
  known.set(tokenizer, { key, sequences });
  return sequences;
}

function sequencesOf(tokenizer: Tokenizer, words: readonly string[], text: string): number[][] {
  /** Ids of what follows the first `size` units of the text. */
  const rests = Array.from({ length: text.length }, (_, size) => [...tokenizer.encode(text.slice(size), { addSpecial: false })]);
  /** Lengths of the beginnings that end with a character. */
  const sizes = new Map<string, number[]>();
  for (let size = 1; size < text.length; size++) sizes.set(text[size - 1]!, [...(sizes.get(text[size - 1]!) ?? []), size]);
  const sequences: number[][] = [];
  for (const [id, word] of words.entries()) {
    if (word.includes(text)) sequences.push([id]);
    else
      for (const size of sizes.get(word.at(-1) ?? "") ?? []) if (word.endsWith(text.slice(0, size))) sequences.push([id, ...rests[size]!]);
  }
  return sequences;
}
