import type { DType } from "@centella/core";
import type { BlockFormat } from "./format.ts";
import { q4_0 } from "./q4_0.ts";
import { q4_K } from "./q4_K.ts";
import { q5_0 } from "./q5_0.ts";
import { q6_K } from "./q6_K.ts";
import { q8_0 } from "./q8_0.ts";

/** The block formats that kernels read without decoding them first. */
export const blockFormats = { q4_0, q4_K, q5_0, q6_K, q8_0 } as const satisfies Partial<Record<DType, BlockFormat>>;

export type FormatName = keyof typeof blockFormats;

export function hasBlockFormat(dtype: DType): dtype is FormatName {
  return Object.hasOwn(blockFormats, dtype);
}
