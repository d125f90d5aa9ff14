import { CharsMap } from "./charsMap.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { UnigramModel } from "./unigramModel.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** The tokenizer of a file whose kind is "t5". @throws {TokenizerError} if a table is broken */
export function createUnigram(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { eosId: 1, unknownId: 2, paddingId: 0, addBos: false, addEos: true });
  const blob = metadata.optionalNumbers("tokenizer.ggml.precompiled_charsmap");
  const addSpacePrefix = metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? false;
  const mergeSpaces = metadata.optionalBool("tokenizer.ggml.remove_extra_whitespaces") ?? false;
  const charsMap = blob === undefined || blob.length === 0 ? undefined : new CharsMap(Uint8Array.from(blob));
  const model = new UnigramModel(vocabulary, { charsMap, addSpacePrefix, mergeSpaces });
  return new VocabularyTokenizer("t5", metadata, vocabulary, model, addSpacePrefix || mergeSpaces);
}
