import { type Vocabulary, vocabulary } from "@centella/grammar";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { controlBytes, isControl } from "./markup.ts";

/** Vocabularies by the control tokens in them. */
const kept = new WeakMap<Tokenizer, Map<string, Vocabulary>>();

/**
 * The tokens that stand for text, with the bytes that a `TextStream` shows for them, and `controlIds`, with the bytes of `controlBytes`. It is
 * made on first use. Other control tokens are not used, nor are added tokens after which text loses its first space.
 */
export function textVocabulary(tokenizer: Tokenizer, controlIds: readonly number[]): Vocabulary {
  const vocabularies = kept.get(tokenizer) ?? new Map<string, Vocabulary>();
  kept.set(tokenizer, vocabularies);
  const key = controlIds.join();
  const known = vocabularies.get(key);
  if (known !== undefined) return known;
  const controls = new Set(controlIds);
  const ids = Array.from({ length: tokenizer.vocabSize }, (_, id) => id);
  const made = vocabulary(
    ids.map((id) => (controls.has(id) ? controlBytes(id) : tokenizer.tokenBytes(id))),
    { endIds: tokenizer.endOfGenerationIds, specialIds: ids.filter((id) => !controls.has(id) && isControl(tokenizer, id)) },
  );
  vocabularies.set(key, made);
  return made;
}
