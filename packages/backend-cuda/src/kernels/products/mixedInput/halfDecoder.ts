import { mapTuple } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../../ptx/builder.ts";
import type { LeftFragment } from "../../../ptx/matrix.ts";
import { isPlain, type UnitFormat } from "../../../weights/unitFormat.ts";
import { both, codeOffsets, type LoadedUnit, type PairPerRow, type PerRow } from "../unitDecoder.ts";

/** Largest finite f16. */
const maxHalf = 65504;

/** A function of the codes of a row: the first two of four weights, or the other two. */
type CodesOfRow = (code: U32, row: 0 | 1, high: 0 | 1) => U32;

/**
 * A function that decodes the lane's part of a chunk of 16 weights to halves, `power` times larger, with arithmetic on pairs of f16. Codes times
 * whole scales are exact up to 2,048. A weight is rounded once after that, and a minimum that is a product once before.
 */
export function halfDecoder(k: PtxBuilder, format: UnitFormat, loaded: LoadedUnit, power: F32): (chunk: number) => LeftFragment {
  if (isPlain(format)) return (chunk) => loaded.fragment(chunk);
  const weightsOf = groupDecoder(k, format, loaded, power);
  const groups = new Map<number, CodesOfRow>();
  return (chunk) => {
    const group = Math.floor((16 * chunk) / format.groupSize);
    const found = groups.get(group) ?? weightsOf(group);
    groups.set(group, found);
    const fragment = loaded.fragment(chunk);
    return mapTuple([0, 1, 2, 3] as const, (place) => found(fragment[place], (place & 1) as 0 | 1, (place >> 1) as 0 | 1));
  };
}

/** Returns the function that turns codes of a group into weights. */
function groupDecoder(k: PtxBuilder, format: UnitFormat, loaded: LoadedUnit, power: F32): (group: number) => CodesOfRow {
  const { steps } = loaded;
  const { low, high } = codeOffsets(format);
  // The zero of two levels may be halfway between the codes.
  const fraction = low - Math.floor(low);
  const offsets = both((which) => k.constantPair(fraction - (which === 0 ? low : high)));
  if (steps === undefined)
    return (group) => {
      const scale = pairs(k, products(k, loaded.scale(group), power));
      const minimum = loaded.minimum && pairs(k, products(k, loaded.minimum(group), power));
      const below = minimum ?? (fraction === 0 ? undefined : both((row) => k.multiplyPairs(scale[row], k.constantPair(-fraction))));
      return (code, row, which) => {
        const level = k.addPairs(code, offsets[which]);
        return below === undefined ? k.multiplyPairs(level, scale[row]) : k.fmaPairs(level, scale[row], below[row]);
      };
    };
  return stepDecoder(k, { ...loaded, steps }, power, offsets);
}

/** What the weights of two groups are computed from: halves of words, the lower ones for the first group. */
interface PairOfGroups {
  readonly scale: PairPerRow;
  readonly minimum: MinimumOfGroups | undefined;
}

interface MinimumOfGroups {
  readonly below: PairPerRow;
  /** The scale times the offset of the first two of four codes, and of the other two. */
  readonly belowCode: readonly [PairPerRow, PairPerRow];
}

/** The same for units with steps. Numbers of two neighbouring groups are computed together. */
function stepDecoder(
  k: PtxBuilder,
  loaded: LoadedUnit & { readonly steps: NonNullable<LoadedUnit["steps"]> },
  power: F32,
  offsets: PairPerRow,
): (group: number) => CodesOfRow {
  const { steps, wholeMinima } = loaded;
  const scaleStep = pairs(k, finiteProducts(k, steps.scale, power));
  const minimumStep = steps.minimum && pairs(k, finiteProducts(k, steps.minimum, power));
  const wholeScales = loaded.wholeScales ?? ((pair): PairPerRow => pairs(k, loaded.scale(2 * pair), loaded.scale(2 * pair + 1)));
  const pairOf = (pair: number): PairOfGroups => {
    const scale = wholeScales(pair);
    if (minimumStep === undefined || wholeMinima === undefined) return { scale, minimum: undefined };
    const whole = wholeMinima(pair);
    const below = both((row) => k.multiplyPairs(whole[row], minimumStep[row]));
    // Exact: offsets are powers of two here, and scales have six bits at most.
    const belowCode = both((which) => both((row) => k.multiplyPairs(scale[row], offsets[which])));
    return { scale, minimum: { below, belowCode } };
  };
  const known = new Map<number, PairOfGroups>();
  return (group) => {
    const found = known.get(group >> 1) ?? pairOf(group >> 1);
    known.set(group >> 1, found);
    const own = (words: PairPerRow): PairPerRow => both((row) => k.splatHalf(words[row], (group & 1) as 0 | 1));
    const scale = own(found.scale);
    if (found.minimum === undefined)
      return (code, row, which) => k.multiplyPairs(k.multiplyPairs(k.addPairs(code, offsets[which]), scale[row]), scaleStep[row]);
    const below = own(found.minimum.below);
    const belowCode = mapTuple(found.minimum.belowCode, own);
    return (code, row, which) => k.fmaPairs(k.fmaPairs(code, scale[row], belowCode[which][row]), scaleStep[row], below[row]);
  };
}

/** Numbers as pairs, with those of another group or with themselves. */
function pairs(k: PtxBuilder, low: PerRow, high: PerRow = low): PairPerRow {
  return both((row) => k.roundPair("f16", low[row], high[row]));
}

function products(k: PtxBuilder, values: PerRow, factor: F32): PerRow {
  return both((row) => k.mul(values[row], factor));
}

/** Products of steps. A step too large for f16 has scales of 0 alone, and must not be infinite then. */
function finiteProducts(k: PtxBuilder, values: PerRow, factor: F32): PerRow {
  return both((row) => {
    const product = k.mul(values[row], factor);
    const limited = k.min(k.max(product, -maxHalf), maxHalf);
    return k.select(k.compare("le", k.abs(values[row]), maxHalf), limited, product);
  });
}
