import { UnsupportedError } from "@centella/core";
import { shown } from "@centella/quant/checks";
import { ModelError } from "../errors.ts";
import { isFactor } from "../load/factor.ts";
import type { MetadataReader } from "../load/metadataReader.ts";
import type { Family } from "./family.ts";

/** Rotary positions of one model. */
export interface RopeConfig {
  /** Leading elements of a head that are rotated. */
  readonly dims: number;
  readonly pairing: "interleaved" | "half";
  /** Of layers without a window. */
  readonly plain: RopeScaling;
  readonly windowed: RopeScaling;
  /** Longest context of the first training, where files with factors for short and long contexts change over. */
  readonly originalContext: number;
  /** Whether a layer rotates. */
  readonly rotates: (layer: number, isWindowed: boolean) => boolean;
}

export interface RopeScaling {
  readonly base: number;
  /** Multiplies positions: 1 / factor of linear scaling. */
  readonly scale: number;
  /** Divisors of the frequencies `[dims / 2]`: what YaRN comes to. */
  readonly factors: Float32Array | undefined;
  /** Multiplies the rotated elements of queries and of keys. */
  readonly magnitude: number;
  /** What queries and keys are multiplied by as a whole, each, by families whose rotated part is not all of a head. */
  readonly scoreFactor: number;
}

const scalingTypes = ["none", "linear", "yarn", "longrope"];

/** @throws {ModelError | UnsupportedError} for scaling that is not known or contradicts itself */
export function readRope(
  { name, positions, attention }: Family,
  reader: MetadataReader,
  modelLayers: number,
  keyLength: number,
): RopeConfig | undefined {
  if (typeof positions === "string" || (positions.onlyAt !== undefined && positions.onlyAt !== modelLayers)) return undefined;
  if (positions.switchedByFinetuned && reader.bool("rope.scaling.finetuned") === false) return undefined;
  const dims = reader.size("rope.dimension_count") ?? keyLength;
  if (dims > keyLength || dims % 2 !== 0) {
    throw new ModelError(
      `metadata: expected ${name}.rope.dimension_count to be even and at most ${keyLength}, got ${dims}; convert the model again`,
    );
  }
  const type = reader.string("rope.scaling.type") ?? "linear";
  if (!scalingTypes.includes(type))
    throw new UnsupportedError(`rope scaling ${shown(type)}`, `the ones computed are ${scalingTypes.join(", ")}`);
  const base = reader.positive("rope.freq_base") ?? 10_000;
  const originalContext = readOriginalContext(reader);
  const plain = readScaling(reader, { type, base, dims, originalContext }, attention?.latent === true);
  const { layers } = positions;
  const own = attention?.window?.ownRopeBase;
  return {
    dims,
    pairing: positions.sections && hasSections(name, reader, dims) ? "half" : positions.pairing,
    plain,
    windowed: {
      ...(attention?.window?.unscaledRope ? { scale: 1, factors: undefined, magnitude: 1, scoreFactor: 1 } : plain),
      base: (own && (reader.positive("rope.freq_base_swa") ?? own.fallback)) ?? base,
    },
    originalContext,
    rotates: (layer, isWindowed) => layers === undefined || (layers === "windowed" ? isWindowed : (layer + 1) % layers.allBut !== 0),
  };
}

/** Longest context of the first training. */
export function readOriginalContext(reader: MetadataReader): number {
  return reader.tokens("rope.scaling.original_context_length") ?? reader.requiredTokens("context_length");
}

/** Whether the file divides the rotated pairs among axes of pictures. @throws {UnsupportedError} if it leaves pairs to the fourth, which has no position in a text */
function hasSections(name: string, reader: MetadataReader, dims: number): boolean {
  const key = `${name}.rope.dimension_sections`;
  const [time = 0, height = 0, width = 0, extra = 0] = reader.metadata.optionalNumbers(key) ?? [];
  if (time === 0 || height === 0) return false;
  const positioned = time + height + width;
  if (extra > 0 && dims / 2 > positioned)
    throw new UnsupportedError(
      `${key} = [${[time, height, width, extra].join(", ")}]`,
      `pairs from the ${positioned}th on would not be rotated`,
    );
  return true;
}

interface ScalingShape {
  readonly type: string;
  readonly base: number;
  readonly dims: number;
  readonly originalContext: number;
}

function readScaling(reader: MetadataReader, shape: ScalingShape, isLatent: boolean): RopeScaling {
  const { type, base } = shape;
  // `rope.scale_linear` is the key's name in files from before August 2023.
  const factor = reader.positive("rope.scaling.factor") ?? reader.positive("rope.scale_linear") ?? 1;
  const attentionFactor = reader.positive("rope.scaling.attn_factor") ?? 1;
  // Negative means "not set".
  const mix = reader.number("rope.scaling.yarn_ext_factor") ?? -1;
  const extrapolation = mix >= 0 ? mix : type === "yarn" ? 1 : 0;
  if (extrapolation === 0) {
    const yarnFactor = reader.positive("rope.scaling.yarn_attn_factor") ?? 1;
    const magnitude = yarnFactor * attentionFactor;
    return { base, scale: type === "none" ? 1 : 1 / factor, factors: undefined, magnitude, scoreFactor: 1 };
  }
  const magnitude = (multiplier: number): number => (factor <= 1 ? 1 : 1 + 0.1 * multiplier * Math.log(factor));
  const stored = reader.positive("rope.scaling.yarn_log_multiplier") ?? 0;
  // Latent attention: the file has a tenth of the multiplier, which is of the scores as a whole.
  const logMultiplier = isLatent ? 10 * stored : stored;
  const rotated = isLatent && logMultiplier !== 0 ? 1 : magnitude(1) / magnitude(logMultiplier);
  const beta = {
    fast: reader.positive("rope.scaling.yarn_beta_fast") ?? 32,
    slow: reader.positive("rope.scaling.yarn_beta_slow") ?? 1,
  };
  const factors = yarnFactors(shape, factor, extrapolation, beta);
  const wrong = factors.find((divisor) => !isFactor(divisor));
  if (wrong !== undefined) {
    throw new ModelError(
      `metadata: expected ${reader.key("rope.scaling.yarn_ext_factor")} and the other keys of YaRN to give positive divisors of frequencies, got ${wrong}; convert the model again`,
    );
  }
  return {
    base,
    scale: 1,
    factors,
    magnitude: rotated * attentionFactor,
    scoreFactor: rotated * attentionFactor * magnitude(logMultiplier),
  };
}

/**
 * YaRN (Peng et al., 2023) as divisors of frequencies: pairs that turn more than `fast` times within the original context keep
 * theirs, those that turn less than `slow` times have it divided by `factor`, and between the two the frequencies are mixed.
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
