import { type Vocabulary, vocabulary } from "@centella/grammar";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** Vocabularies by the markup that is text in them. */
const kept = new WeakMap<Tokenizer, Map<string, Vocabulary>>();

/**
 * The tokens that stand for text, with the bytes that a `TextStream` shows for them. It is made on first use. Control tokens are no text,
 * apart from those for `markup`. Where text after an added token loses its first space, added tokens are not used either.
 */
export function textVocabulary(tokenizer: Tokenizer, markup: readonly string[]): Vocabulary {
  const vocabularies = kept.get(tokenizer) ?? new Map<string, Vocabulary>();
  kept.set(tokenizer, vocabularies);
  const shown = markup.flatMap((tag) => tokenizer.tokenId(tag) ?? []);
  const key = shown.join();
  const known = vocabularies.get(key);
  if (known !== undefined) return known;
  const ids = Array.from({ length: tokenizer.vocabSize }, (_, id) => id);
  const isText = (id: number): boolean =>
    shown.includes(id) || !(tokenizer.isSpecial(id) || (tokenizer.addSpacePrefix && tokenizer.isTextBoundary(id)));
  const made = vocabulary(
    ids.map((id) => tokenizer.tokenBytes(id)),
    { endIds: tokenizer.endOfGenerationIds, specialIds: ids.filter((id) => !isText(id)) },
  );
  vocabularies.set(key, made);
  return made;
}
