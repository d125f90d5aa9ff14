import { TokenizerError } from "../errors.ts";
import { BytePairModel } from "./bytePairModel.ts";
import { CharsMap } from "./charsMap.ts";
import { preTokenizerFor } from "./preTokenizers.ts";
import { SentencePieceModel } from "./sentencePieceModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { UnigramModel } from "./unigramModel.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";
import { WordPieceModel } from "./wordPieceModel.ts";

/**
 * The tokenizer that a GGUF file describes in `tokenizer.ggml.*`; pass `file.metadata`.
 * @throws {TokenizerError} if the kind (`tokenizer.ggml.model`) or the pre-tokenizer is not known or a table is broken
 */
export function createTokenizer(metadata: VocabularyMetadata): Tokenizer {
  const model = metadata.optionalString("tokenizer.ggml.model");
  if (model === "llama") return createSentencePiece(metadata);
  if (model === "gpt2") return createBytePair(metadata, metadata.optionalString("tokenizer.ggml.pre") ?? "default");
  // Its own name for the kind stands for the pre-tokenizer, too.
  if (model === "gemma4") return createBytePair(metadata, model);
  if (model === "bert") return createWordPiece(metadata);
  if (model === "t5") return createUnigram(metadata);
  throw new TokenizerError(
    `tokenizer: expected "llama" (SentencePiece), "gpt2" or "gemma4" (BPE), "bert" (WordPiece) or "t5" (unigram) in tokenizer.ggml.model, got ${model === undefined ? "no such key" : JSON.stringify(model)}`,
  );
}

function createSentencePiece(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { bosId: 1, eosId: 2, unknownId: 0, addBos: true });
  const addSpacePrefix = metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? true;
  return new VocabularyTokenizer("llama", metadata, vocabulary, new SentencePieceModel(vocabulary, addSpacePrefix), addSpacePrefix);
}

function createBytePair(metadata: VocabularyMetadata, pre: string): Tokenizer {
  const merges = metadata.optionalStrings("tokenizer.ggml.merges");
  if (merges === undefined) throw new TokenizerError("tokenizer: expected tokenizer.ggml.merges for byte-pair encoding, got no such key");
  const named = preTokenizerFor(pre);
  const preTokenizer = { ...named, ignoreMerges: metadata.optionalBool("tokenizer.ggml.ignore_merges") ?? named.ignoreMerges };
  const vocabulary = new Vocabulary(metadata, { addBos: preTokenizer.addBos });
  return new VocabularyTokenizer("gpt2", metadata, vocabulary, new BytePairModel(vocabulary, merges, preTokenizer), false);
}

function createWordPiece(metadata: VocabularyMetadata): Tokenizer {
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

function createUnigram(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { eosId: 1, unknownId: 2, paddingId: 0, addBos: false, addEos: true });
  const blob = metadata.optionalNumbers("tokenizer.ggml.precompiled_charsmap");
  const addSpacePrefix = metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? false;
  const mergeSpaces = metadata.optionalBool("tokenizer.ggml.remove_extra_whitespaces") ?? false;
  const charsMap = blob === undefined || blob.length === 0 ? undefined : new CharsMap(Uint8Array.from(blob));
  const model = new UnigramModel(vocabulary, { charsMap, addSpacePrefix, mergeSpaces });
  return new VocabularyTokenizer("t5", metadata, vocabulary, model, addSpacePrefix || mergeSpaces);
}
