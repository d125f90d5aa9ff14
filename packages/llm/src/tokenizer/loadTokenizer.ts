import { describe } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { Tokenizer, TokenizerKind } from "./tokenizer.ts";
import type { VocabularyMetadata } from "./vocabulary.ts";

/** Kinds by the values of `tokenizer.ggml.model`. */
const kinds: Readonly<Record<string, TokenizerKind>> = {
  llama: "llama",
  gpt2: "gpt2",
  gemma4: "gpt2",
  bert: "bert",
  t5: "t5",
  rwkv: "rwkv",
  plamo2: "plamo2",
};

/** Returns the kind of a file's tokenizer. @throws {TokenizerError} if the kind is unknown */
export function tokenizerKindOf(metadata: VocabularyMetadata): TokenizerKind {
  const model = metadata.optionalString("tokenizer.ggml.model");
  const found = model !== undefined && Object.hasOwn(kinds, model) ? kinds[model] : undefined;
  if (found !== undefined) return found;
  throw new TokenizerError(
    `tokenizer: expected "llama" (SentencePiece), "gpt2" or "gemma4" (BPE), "bert" (WordPiece), "t5" or "plamo2" (unigram), or "rwkv" (longest match) in tokenizer.ggml.model, got ${model === undefined ? "no such key" : describe(model)}`,
  );
}

/** Like `createTokenizer`, but loads only the code of the file's kind. @throws {TokenizerError} as it does */
export async function loadTokenizer(metadata: VocabularyMetadata): Promise<Tokenizer> {
  switch (tokenizerKindOf(metadata)) {
    case "llama":
      return (await import("./sentencePiece.ts")).createSentencePiece(metadata);
    case "gpt2":
      return (await import("./bytePair.ts")).loadBytePair(metadata);
    case "bert":
      return (await import("./wordPiece.ts")).createWordPiece(metadata);
    case "t5":
      return (await import("./unigram.ts")).createUnigram(metadata);
    case "rwkv":
      return (await import("./longestMatch.ts")).createLongestMatch(metadata);
    case "plamo2":
      return (await import("./reverseUnigram.ts")).createReverseUnigram(metadata);
  }
}
