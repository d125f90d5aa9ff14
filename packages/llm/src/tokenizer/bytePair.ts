import { TokenizerError } from "../errors.ts";
import { BytePairModel } from "./bytePairModel.ts";
import { commonFamilies, findPreTokenizer, type PreTokenizer } from "./preTokenizers.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** What finds the pre-tokenizer of a name. @throws {TokenizerError} if it is not known */
type Finder = (name: string) => PreTokenizer;

/** The tokenizer of a file whose kind is "gpt2". @throws {TokenizerError} if the pre-tokenizer is not known or a table is broken */
export function createBytePair(metadata: VocabularyMetadata, preTokenizerFor: Finder): Tokenizer {
  const merges = metadata.optionalStrings("tokenizer.ggml.merges");
  if (merges === undefined) throw new TokenizerError("tokenizer: expected tokenizer.ggml.merges for byte-pair encoding, got no such key");
  const named = preTokenizerFor(preTokenizerName(metadata));
  const preTokenizer = { ...named, ignoreMerges: metadata.optionalBool("tokenizer.ggml.ignore_merges") ?? named.ignoreMerges };
  const vocabulary = new Vocabulary(metadata, { addBos: preTokenizer.addBos });
  return new VocabularyTokenizer("gpt2", metadata, vocabulary, new BytePairModel(vocabulary, merges, preTokenizer), false);
}

/** {@link createBytePair} that loads the pre-tokenizers of few models if it has to. */
export async function loadBytePair(metadata: VocabularyMetadata): Promise<Tokenizer> {
  const common = findPreTokenizer(commonFamilies, preTokenizerName(metadata));
  if (common !== undefined) return createBytePair(metadata, () => common);
  return createBytePair(metadata, (await import("./regexPreTokenizers.ts")).preTokenizerFor);
}

function preTokenizerName(metadata: VocabularyMetadata): string {
  // gemma4's own name for the kind stands for the pre-tokenizer, too.
  if (metadata.optionalString("tokenizer.ggml.model") === "gemma4") return "gemma4";
  return metadata.optionalString("tokenizer.ggml.pre") ?? "default";
}
