import { contentsOf, uniform } from "@centella/conformance";
import { decode, layoutOf } from "@centella/core/backend";

export const extremeTypes = ["q4_K", "q8_0", "mxfp4", "f16", "bf16"] as const;

/** The first bytes of blocks of the smallest and of large weights: f16 scales, or a power of two. */
const blockStarts = {
  q4_K: { small: [1, 0, 1, 0], large: [0, 0x57, 0, 0x57] },
  q8_0: { small: [1, 0], large: [0, 0x62] },
  mxfp4: { small: [60], large: [190] },
} as const;

/** A matrix whose first 16 rows have small weights, and whose other rows have weights of 1e5 or more. */
export function extremeWeights(
  dtype: (typeof extremeTypes)[number],
  [rows, depth]: readonly [number, number],
): ReturnType<typeof contentsOf> {
  if (dtype === "f16" || dtype === "bf16") return contentsOf({ dtype, shape: [rows, depth], values: extremeNumbers(rows * depth) }, 1);
  const { spec, stored } = contentsOf({ dtype, shape: [rows, depth] }, 5);
  const { elements, bytes } = layoutOf(dtype);
  const { small, large } = blockStarts[dtype];
  for (let block = 0; block * elements < rows * depth; block++)
    (stored as Uint8Array).set(block * elements < 16 * depth ? small : large, block * bytes);
  return { spec, stored, decoded: decode(spec, stored) };
}

/** Numbers about 1e-7 in the first 16 rows of 256, and up to 65,504 in the others. */
function extremeNumbers(count: number): number[] {
  return Array.from(uniform(1, count), (value, i) => value * (i < 16 * 256 ? 1e-7 : 65504));
}
