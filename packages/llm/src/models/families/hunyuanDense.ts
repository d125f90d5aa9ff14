import type { Family } from "../family.ts";

/** Hunyuan, the dense ones: queries and keys are normalised after they are rotated. */
export const hunyuanDense: Family = {
  name: "hunyuan-dense",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "head", normsRotated: true },
};
