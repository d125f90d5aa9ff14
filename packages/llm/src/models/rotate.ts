import { UnsupportedError, type Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { RopeConfig } from "./ropeConfig.ts";

/** `x [T, heads, size] -> [T, heads, size]`: its leading elements turned by the tokens' positions. */
export function rotate({ program, positions, ...r }: ModelBuilder, rope: RopeConfig, isWindowed: boolean, x: Value): Value {
  const { dims, pairing } = rope;
  const { base, scale, factors, magnitude } = isWindowed ? rope.windowed : rope.plain;
  const stored = isWindowed && rope.windowed.scale !== rope.plain.scale ? undefined : storedFactors(r, rope);
  if (stored !== undefined && factors !== undefined) {
    throw new UnsupportedError("rope scaling yarn", "the file also has factors for each frequency");
  }
  const freqFactors = stored ?? (factors && program.constant(factors, "f32", [dims / 2]));
  const y = program.rope(x, positions, { pairing, dims, base, scale, ...(freqFactors && { freqFactors }) });
  if (magnitude === 1) return y;
  const size = Number(x.spec.shape.at(-1));
  const perElement = Float32Array.from({ length: size }, (_, i) => (i < dims ? magnitude : 1));
  return program.mul(y, program.constant(perElement, "f32", [size]));
}

const longFactors = "rope_factors_long.weight";
const shortFactors = "rope_factors_short.weight";
const oneSetOfFactors = "rope_freqs.weight";

/** Divisors of the frequencies that the file has: one set (Llama 3), or one for short and one for long contexts (longrope). */
function storedFactors(
  { weights, contextLength }: Pick<ModelBuilder, "weights" | "contextLength">,
  { dims, originalContext }: RopeConfig,
): Value | undefined {
  const forLength = contextLength > originalContext ? longFactors : shortFactors;
  const name = weights.has(oneSetOfFactors) ? oneSetOfFactors : forLength;
  return weights.has(name) ? weights.divisors(name, dims / 2) : undefined;
}

/** Factors of the other context length, or of layers that do not rotate, are left out knowingly. */
export function ignoreRopeFactors({ weights }: ModelBuilder): void {
  weights.ignore(longFactors, shortFactors, oneSetOfFactors);
}
