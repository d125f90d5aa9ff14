export { ChatTemplateError, LlmError, SamplingError, TokenizerError } from "./errors.ts";
export { createTokenizer } from "./tokenizer/createTokenizer.ts";
export { preTokenizerNames } from "./tokenizer/preTokenizers.ts";
export { TextStream, type TextStreamOptions } from "./tokenizer/textStream.ts";
export type { DecodeOptions, EncodeOptions, Tokenizer } from "./tokenizer/tokenizer.ts";
export type { VocabularyMetadata } from "./tokenizer/vocabulary.ts";
