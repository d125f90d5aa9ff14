import { SentencePieceModel } from "./sentencePieceModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** The tokenizer of a file whose kind is "llama". @throws {TokenizerError} if a table is broken */
export function createSentencePiece(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { bosId: 1, eosId: 2, unknownId: 0, addBos: true });
  const addSpacePrefix = metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? true;
  return new VocabularyTokenizer("llama", metadata, vocabulary, new SentencePieceModel(vocabulary, addSpacePrefix), addSpacePrefix);
}
