import { describe } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { TokenizerKind } from "./tokenizer.ts";
import type { VocabularyMetadata } from "./vocabulary.ts";

/** How models are named in files. */
const kinds: Readonly<Record<string, TokenizerKind>> = { llama: "llama", gpt2: "gpt2", gemma4: "gpt2", bert: "bert", t5: "t5" };

/** The kind of tokenizer that a file has. @throws {TokenizerError} if it is not known */
export function kindOf(metadata: VocabularyMetadata): TokenizerKind {
  const model = metadata.optionalString("tokenizer.ggml.model");
  if (model !== undefined && Object.hasOwn(kinds, model)) return kinds[model]!;
  throw new TokenizerError(
    `tokenizer: expected "llama" (SentencePiece), "gpt2" or "gemma4" (BPE), "bert" (WordPiece) or "t5" (unigram) in tokenizer.ggml.model, got ${model === undefined ? "no such key" : describe(model)}`,
  );
}
