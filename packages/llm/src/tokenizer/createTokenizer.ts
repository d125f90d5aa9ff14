import { check, isRecord, kind } from "@centella/quant/checks";
import { createBytePair } from "./bytePair.ts";
import { tokenizerKindOf } from "./loadTokenizer.ts";
import { createLongestMatch } from "./longestMatch.ts";
import { preTokenizerFor } from "./regexPreTokenizers.ts";
import { createReverseUnigram } from "./reverseUnigram.ts";
import { createSentencePiece } from "./sentencePiece.ts";
import type { Tokenizer, TokenizerKind } from "./tokenizer.ts";
import { createUnigram } from "./unigram.ts";
import type { VocabularyMetadata } from "./vocabulary.ts";
import { createWordPiece } from "./wordPiece.ts";

type Creators = { readonly [K in TokenizerKind]: (metadata: VocabularyMetadata) => Tokenizer };

const creators: Creators = {
  llama: createSentencePiece,
  gpt2: (metadata) => createBytePair(metadata, preTokenizerFor),
  bert: createWordPiece,
  t5: createUnigram,
  rwkv: createLongestMatch,
  plamo2: createReverseUnigram,
};

const metadataKind = kind("metadata", (value) => isRecord(value) && typeof value.optionalString === "function");

/**
 * Creates the tokenizer that a GGUF file describes in `tokenizer.ggml.*`. Pass `file.metadata`.
 * @throws {TokenizerError} if the kind (`tokenizer.ggml.model`) or the pre-tokenizer is unknown, or a table is broken
 */
export function createTokenizer(metadata: VocabularyMetadata): Tokenizer {
  check("createTokenizer", "metadata", metadata, metadataKind, "pass file.metadata");
  return creators[tokenizerKindOf(metadata)](metadata);
}
