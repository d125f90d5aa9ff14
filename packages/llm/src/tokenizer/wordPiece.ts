import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";
import { WordPieceModel } from "./wordPieceModel.ts";

/** The tokenizer of a file whose kind is "bert". @throws {TokenizerError} if a table is broken */
export function createWordPiece(metadata: VocabularyMetadata): Tokenizer {
  // BERT's ids, for files that name none. Its text begins with CLS and ends with SEP.
  const clsId = metadata.optionalNumber("tokenizer.ggml.cls_token_id") ?? 101;
  const vocabulary = new Vocabulary(metadata, {
    bosId: clsId,
    unknownId: 100,
    separatorId: 102,
    paddingId: 0,
    addBos: true,
    addSeparator: true,
  });
  const isLowercase = metadata.optionalBool("tokenizer.ggml.normalizer.lowercase") ?? true;
  const stripsAccents = metadata.optionalBool("tokenizer.ggml.normalizer.strip_accents") ?? isLowercase;
  return new VocabularyTokenizer("bert", metadata, vocabulary, new WordPieceModel(vocabulary, { isLowercase, stripsAccents }), true);
}
