import type { VocabularyMetadata } from "../src/tokenizer/vocabulary.ts";

/** Values of `tokenizer.ggml.*`, by the keys without that prefix. */
export function describedBy(keys: Readonly<Record<string, unknown>>): VocabularyMetadata {
  const get = (key: string): unknown => keys[key.replace("tokenizer.ggml.", "")];
  return {
    optionalString: (key) => get(key) as string | undefined,
    optionalNumber: (key) => get(key) as number | undefined,
    optionalBool: (key) => get(key) as boolean | undefined,
    optionalStrings: (key) => get(key) as string[] | undefined,
    optionalNumbers: (key) => get(key) as number[] | undefined,
  };
}
