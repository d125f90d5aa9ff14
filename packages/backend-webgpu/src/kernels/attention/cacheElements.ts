import type { DType } from "@centella/core";
import { elementOf } from "../../wgsl/module.ts";
import type { ElementType } from "../shared/kernel.ts";

/** Neighbouring elements of a cache that a lane reads at once: 16 bytes of f16, a quarter of a block of q8_0. */
export const cacheWidth = 8;

/** How kernels read {@link cacheWidth} neighbouring elements of the binding `cache`. They are decoded where they are used. */
export interface CacheElements {
  /** Element type of the binding. */
  readonly element: ElementType;
  /** WGSL type of the stored elements. Its zero value decodes to zeros. */
  readonly packed: string;
  readonly declarations: readonly string[];
  /** Expression of the elements from `at` on, a multiple of 8. */
  readonly packedAt: (at: string) => string;
  /** Expressions of both halves, each a `vec4f`, of a name of packed elements. */
  readonly vectors: (packed: string) => readonly [string, string];
}

/** @param dtype one of those that `attention` takes */
export function cacheElements(dtype: DType): CacheElements {
  if (dtype === "f32") return floats;
  return dtype === "f16" ? halves : blocks;
}

const floats: CacheElements = {
  element: "vec4f",
  packed: "mat2x4f",
  declarations: [],
  packedAt: (at) => `mat2x4f(cache[(${at}) / 4u], cache[(${at}) / 4u + 1u])`,
  vectors: (packed) => [`${packed}[0]`, `${packed}[1]`],
};

const half = (packed: string, a: string, b: string): string => `vec4f(unpack2x16float(${packed}.${a}), unpack2x16float(${packed}.${b}))`;

const halves: CacheElements = {
  element: "vec4u",
  packed: "vec4u",
  declarations: [],
  packedAt: (at) => `cache[(${at}) / 8u]`,
  vectors: (packed) => [half(packed, "x", "y"), half(packed, "z", "w")],
};

/**
 * Blocks of q8_0 have 34 bytes: an f16 scale, then 32 codes. Each second block begins in the middle of a word. Its scale is then the upper half
 * of that word, and its codes are whole words.
 */
const blocks: CacheElements = {
  element: elementOf("q8_0"),
  packed: "Codes",
  declarations: [
    "struct Codes { words: vec3u, scale: u32, isWhole: bool }",
    `fn codesAt(i: u32) -> Codes {
      let block = i / 32u;
      let start = block * 34u + 2u + i % 32u;
      // The third word is that of the last code, so nothing after the block is read.
      let words = vec3u(cache[start / 4u], cache[start / 4u + 1u], cache[(start + 7u) / 4u]);
      return Codes(words, cache[block * 34u / 4u], block % 2u == 1u);
    }`,
    `fn quarterOf(codes: Codes, low: u32, high: u32) -> vec4f {
      let word = select((low >> 16u) | (high << 16u), low, codes.isWhole);
      let scale = unpack2x16float(select(codes.scale, codes.scale >> 16u, codes.isWhole)).x;
      return vec4f(vec4i(vec4u(word) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u)) * scale;
    }`,
  ],
  packedAt: (at) => `codesAt(${at})`,
  vectors: (packed) => [
    `quarterOf(${packed}, ${packed}.words.x, ${packed}.words.y)`,
    `quarterOf(${packed}, ${packed}.words.y, ${packed}.words.z)`,
  ],
};
