import { UnsupportedError, type Value } from "@centella/core";
import { shown } from "@centella/quant/checks";
import { ModelError } from "../../../errors.ts";
import { isFactor } from "../../../load/factor.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { WeightTable } from "../../../load/weights.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import { lastExtent } from "../section.ts";

/** Pairs of elements that rope turns, in llama.cpp's names: neighbours ("norm"), or one of each half of the rotated elements ("neox"). */
export type RopeType = "norm" | "neox";

/** Rotary positions. */
export interface RopeConfig extends RopeScaling {
  readonly type: RopeType;
  /** Leading elements of a head that are rotated. */
  readonly dims: number;
  /** Longest context of the first training. Longer contexts use the long factors of files that have two sets. */
  readonly originalContext: number;
  /** Whether factors that the file stores as tensors apply. */
  readonly hasStoredFactors: boolean;
}

interface RopeScaling {
  readonly base: number;
  /** Multiplies positions: 1 / factor of linear scaling. */
  readonly scale: number;
  /** YaRN as divisors of the frequencies `[dims / 2]`. */
  readonly factors: Float32Array | undefined;
  /** Multiplies the rotated elements of queries and of keys. */
  readonly magnitude: number;
  /** Multiplies queries and keys as a whole, each, in families that rotate only a part of a head. */
  readonly scoreFactor: number;
}

const scalingTypes = ["none", "linear", "yarn", "longrope"];

export interface RopeOptions {
  /** Elements of a head, or of its rotated part. */
  readonly keyLength: number;
  /** Whether the keys are latent attention's, whose files state YaRN's magnitude in another way. */
  readonly isLatent?: boolean;
  /** Base of the frequencies, if it is not what the file says of all layers. */
  readonly base?: number;
  /** Whether YaRN's magnitude applies to the whole scores alone, where latent attention's file states it. Default true. */
  readonly keepsLength?: boolean;
}

/** @throws {ModelError | UnsupportedError} for scaling that is not known or contradicts itself */
export function readRope(
  file: MetadataReader,
  type: RopeType,
  { keyLength, isLatent = false, keepsLength = true, base = file.positive("rope.freq_base") ?? 10_000 }: RopeOptions,
): RopeConfig {
  const dims = file.size("rope.dimension_count") ?? keyLength;
  if (dims > keyLength || dims % 2 !== 0) {
    throw new ModelError(
      `metadata: expected ${file.key("rope.dimension_count")} to be even and at most ${keyLength}, got ${dims}; convert the model again`,
    );
  }
  const scaling = file.string("rope.scaling.type") ?? "linear";
  if (!scalingTypes.includes(scaling))
    throw new UnsupportedError(`rope scaling ${shown(scaling)}`, `the ones computed are ${scalingTypes.join(", ")}`);
  const originalContext = readOriginalContext(file);
  return {
    type,
    dims,
    originalContext,
    hasStoredFactors: true,
    ...readScaling(file, { type: scaling, base, dims, originalContext }, { isLatent, keepsLength }),
  };
}

/** The same without scaling: plain positions. */
export function unscaled(rope: RopeConfig): RopeConfig {
  return { ...rope, scale: 1, factors: undefined, magnitude: 1, scoreFactor: 1, hasStoredFactors: false };
}

/** The longest context of the first training. */
export function readOriginalContext(file: MetadataReader): number {
  return file.tokens("rope.scaling.original_context_length") ?? file.requiredTokens("context_length");
}

/**
 * `x [T, heads, size] -> [T, heads, size]`: its leading elements turned by the tokens' positions, or by others `[T]`.
 * @param table the tensors of the file that stores factors of frequencies
 */
export function applyRope(
  m: ModelBuilder,
  rope: RopeConfig,
  x: Value,
  positions: Value = m.positions,
  table: WeightTable = m.weights,
): Value {
  const { program } = m;
  const { dims, base, scale, factors, magnitude } = rope;
  const stored = rope.hasStoredFactors ? storedFactors(m, rope, table) : undefined;
  if (stored !== undefined && factors !== undefined) {
    throw new UnsupportedError("rope scaling yarn", "the file also has factors for each frequency");
  }
  const freqFactors = stored ?? (factors && program.constant(factors, "f32", [dims / 2]));
  const y = program.rope(x, positions, { ropeType: rope.type, dims, base, scale, ...(freqFactors && { freqFactors }) });
  if (magnitude === 1) return y;
  const size = Number(x.spec.shape.at(-1));
  const perElement = Float32Array.from({ length: size }, (_, i) => (i < dims ? magnitude : 1));
  return program.mul(y, program.constant(perElement, "f32", [size]));
}

/** The same for the trailing elements. */
export function applyRopeToEnd(m: ModelBuilder, rope: RopeConfig, x: Value, positions: Value = m.positions): Value {
  const { program } = m;
  const size = lastExtent(x);
  const start = size - rope.dims;
  if (start === 0) return applyRope(m, rope, x, positions);
  const rotated = applyRope(m, rope, program.slice(x, { axis: -1, start, end: size }), positions);
  return program.concat([program.slice(x, { axis: -1, start: 0, end: start }), rotated], { axis: -1 });
}

const longFactors = "rope_factors_long.weight";
const shortFactors = "rope_factors_short.weight";
const oneSetOfFactors = "rope_freqs.weight";

/** Divisors of the frequencies that the file stores: one set (Llama 3), or one for short and one for long contexts (longrope). */
function storedFactors(m: ModelBuilder, { dims, originalContext }: RopeConfig, table: WeightTable): Value | undefined {
  const weights = table.of("shared");
  const forLength = m.contextLength > originalContext ? longFactors : shortFactors;
  const name = weights.has(oneSetOfFactors) ? oneSetOfFactors : forLength;
  return weights.has(name) ? weights.divisors(name, dims / 2) : undefined;
}

/** Leaves out the factors that no layer has used. Call it after the last layer. */
export function ignoreRopeFactors({ weights }: ModelBuilder): void {
  weights.ignore(longFactors, shortFactors, oneSetOfFactors);
}

interface ScalingShape {
  readonly type: string;
  readonly base: number;
  readonly dims: number;
  readonly originalContext: number;
}

function readScaling(file: MetadataReader, shape: ScalingShape, latent: LatentYarn): RopeScaling {
  const { type, base } = shape;
  // `rope.scale_linear` is the key's name in files from before August 2023.
  const factor = file.positive("rope.scaling.factor") ?? file.positive("rope.scale_linear") ?? 1;
  const attentionFactor = file.positive("rope.scaling.attn_factor") ?? 1;
  // Negative means "not set".
  const mix = file.number("rope.scaling.yarn_ext_factor") ?? -1;
  const extrapolation = mix >= 0 ? mix : type === "yarn" ? 1 : 0;
  if (extrapolation !== 0) return readYarn(file, shape, { factor, attentionFactor, extrapolation, ...latent });
  const magnitude = (file.positive("rope.scaling.yarn_attn_factor") ?? 1) * attentionFactor;
  return { base, scale: type === "none" ? 1 : 1 / factor, factors: undefined, magnitude, scoreFactor: 1 };
}

type LatentYarn = Required<Pick<RopeOptions, "isLatent" | "keepsLength">>;

interface YarnOptions extends LatentYarn {
  readonly factor: number;
  readonly attentionFactor: number;
  /** Share of the unscaled frequencies, from 0 to 1. */
  readonly extrapolation: number;
}

function readYarn(
  file: MetadataReader,
  shape: ScalingShape,
  { factor, attentionFactor, extrapolation, isLatent, keepsLength }: YarnOptions,
): RopeScaling {
  const magnitude = (multiplier: number): number => (factor <= 1 ? 1 : 1 + 0.1 * multiplier * Math.log(factor));
  const stored = file.positive("rope.scaling.yarn_log_multiplier") ?? 0;
  // Files with latent attention state a tenth of the multiplier, which applies to the whole scores.
  const logMultiplier = isLatent ? 10 * stored : stored;
  const rotated = isLatent && keepsLength && logMultiplier !== 0 ? 1 : magnitude(1) / magnitude(logMultiplier);
  const beta = {
    fast: file.positive("rope.scaling.yarn_beta_fast") ?? 32,
    slow: file.positive("rope.scaling.yarn_beta_slow") ?? 1,
  };
  const factors = yarnFactors(shape, factor, extrapolation, beta);
  const wrong = factors.find((divisor) => !isFactor(divisor));
  if (wrong !== undefined) {
    throw new ModelError(
      `metadata: expected ${file.key("rope.scaling.yarn_ext_factor")} and the other keys of YaRN to give positive divisors of frequencies, got ${wrong}; convert the model again`,
    );
  }
  const applied = rotated * attentionFactor;
  return { base: shape.base, scale: 1, factors, magnitude: applied, scoreFactor: applied * magnitude(logMultiplier) };
}

/**
 * Divisors of the frequencies for YaRN (Peng et al., 2023). Pairs that turn more than `fast` times within the original context keep their
 * frequency, and pairs that turn less than `slow` times have it divided by `factor`. Between the two, the frequencies are mixed.
 */
export function yarnFactors(
  { base, dims, originalContext }: Pick<ScalingShape, "base" | "dims" | "originalContext">,
  factor: number,
  extrapolation: number,
  beta: { readonly fast: number; readonly slow: number },
): Float32Array {
  const pairTurning = (turns: number): number => (dims * Math.log(originalContext / (turns * 2 * Math.PI))) / (2 * Math.log(base));
  const first = Math.max(0, Math.floor(pairTurning(beta.fast)));
  const last = Math.min(dims - 1, Math.ceil(pairTurning(beta.slow)));
  return Float32Array.from({ length: dims / 2 }, (_, pair) => {
    const ramp = 1 - Math.min(1, Math.max(0, (pair - first) / Math.max(0.001, last - first)));
    const kept = ramp * extrapolation;
    return 1 / (kept + (1 - kept) / factor);
  });
}
