import { TokenizerError } from "../errors.ts";
import { BytePairModel } from "./bytePairModel.ts";
import { preTokenizerFor } from "./preTokenizers.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** The tokenizer of a file whose kind is "gpt2". @throws {TokenizerError} if the pre-tokenizer is not known or a table is broken */
export function createBytePair(metadata: VocabularyMetadata): Tokenizer {
  const merges = metadata.optionalStrings("tokenizer.ggml.merges");
  if (merges === undefined) throw new TokenizerError("tokenizer: expected tokenizer.ggml.merges for byte-pair encoding, got no such key");
  // gemma4's own name for the kind stands for the pre-tokenizer, too.
  const isGemma4 = metadata.optionalString("tokenizer.ggml.model") === "gemma4";
  const named = preTokenizerFor(isGemma4 ? "gemma4" : (metadata.optionalString("tokenizer.ggml.pre") ?? "default"));
  const preTokenizer = { ...named, ignoreMerges: metadata.optionalBool("tokenizer.ggml.ignore_merges") ?? named.ignoreMerges };
  const vocabulary = new Vocabulary(metadata, { addBos: preTokenizer.addBos });
  return new VocabularyTokenizer("gpt2", metadata, vocabulary, new BytePairModel(vocabulary, merges, preTokenizer), false);
}
