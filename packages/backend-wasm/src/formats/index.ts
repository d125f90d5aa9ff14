import type { DType } from "@centella/core";
import type { BlockFormat } from "./format.ts";
import { q4_0 } from "./q4_0.ts";
import { q4_K } from "./q4_K.ts";
import { q5_0 } from "./q5_0.ts";
import { q6_K } from "./q6_K.ts";
import { q8_0 } from "./q8_0.ts";

/** Block types that kernels read without decoding them first. */
export type FormatName = "q4_0" | "q4_K" | "q5_0" | "q6_K" | "q8_0";

export const blockFormats: Readonly<Record<FormatName, BlockFormat>> = { q4_0, q4_K, q5_0, q6_K, q8_0 };

/** All of them. */
export const formatNames: readonly FormatName[] = ["q4_0", "q4_K", "q5_0", "q6_K", "q8_0"];

export function hasBlockFormat(dtype: DType): dtype is FormatName {
  return Object.hasOwn(blockFormats, dtype);
}
