import type { Tokenizer } from "./tokenizer.ts";
import { tokenizerKindOf, type VocabularyMetadata } from "./vocabulary.ts";

/** `createTokenizer` that loads the code of the file's kind alone. @throws {TokenizerError} as it does */
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
  }
}
