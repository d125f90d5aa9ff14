import type { GroupFormat } from "./format.ts";

/**
 * Lossless stored form of block types without kernels of their own: 32 weights in 40 bytes. Two f32 scales for 16
 * weights each are followed by the weights as multiples of their scale, from -127 to 127. Not a ggml type.
 */
export const scaled8: GroupFormat = {
  elements: 32,
  bytes: 40,
  fields: [
    { at: 0, unit: 4, count: 2 },
    { at: 8, unit: 4, count: 8 },
  ],
  rounding: "q8_0",
  largestCode: undefined,
  runElements: 16,
  codes: ({ block }, index, half) => block.word(8 + 4 * index, half),
  d: ({ block }, half, run) => block.word(4 * (run & 1), half),
  hasRunScales: true,
};
