import type { Tokenizer } from "../tokenizer/tokenizer.ts";

type Sequences = readonly (readonly number[])[];

/** Results of the last call for each tokenizer. */
const lastResults = new WeakMap<Tokenizer, { readonly key: string; readonly sequences: Sequences }>();

/**
 * Id sequences that contain one of the texts: each token that contains the text, and each token that ends with a prefix of the text, followed
 * by the tokens of the rest. For each text, the time is proportional to the size of the vocabulary.
 */
export function breakerSequences(tokenizer: Tokenizer, texts: readonly string[]): Sequences {
  const key = JSON.stringify(texts);
  const last = lastResults.get(tokenizer);
  if (last?.key === key) return last.sequences;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const words = Array.from({ length: tokenizer.vocabSize }, (_, id) => decoder.decode(tokenizer.tokenBytes(id)));
  const sequences = texts.flatMap((text) => sequencesOf(tokenizer, words, text));
  lastResults.set(tokenizer, { key, sequences });
  return sequences;
}

function sequencesOf(tokenizer: Tokenizer, words: readonly string[], text: string): number[][] {
  /** Ids of the text after its first `size` units. */
  const rests = Array.from({ length: text.length }, (_, size) => [...tokenizer.encode(text.slice(size), { addSpecial: false })]);
  /** Proper prefixes of the text with their last characters. */
  const prefixes = rests.flatMap((rest, size) => (size === 0 ? [] : [{ prefix: text.slice(0, size), last: text.charAt(size - 1), rest }]));
  const sequences: number[][] = [];
  for (const [id, word] of words.entries()) {
    if (word.includes(text)) {
      sequences.push([id]);
      continue;
    }
    const last = word.at(-1);
    for (const { prefix, rest } of prefixes.filter((candidate) => candidate.last === last)) {
      if (word.endsWith(prefix)) sequences.push([id, ...rest]);
    }
  }
  return sequences;
}
