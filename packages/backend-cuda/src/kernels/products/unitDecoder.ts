import { elementAt } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import type { LeftFragment } from "../../ptx/matrix.ts";
import type { Shared } from "../../ptx/types.ts";
import { loadLaneHalves, quadOffset } from "../../weights/halfRows.ts";
import { scalesOfWord, shifted, times } from "../../weights/scales.ts";
import { type CodePlane, isPlain, placeOf, type UnitFormat } from "../../weights/unitFormat.ts";
import { lanes } from "../shared/gpu.ts";
import { levelBias, levelReader } from "./levels.ts";

/** A lane's place in its warp: `lane = 4 * row + part`. */
export interface Lane {
  readonly lane: U32;
  readonly row: U32;
  readonly part: U32;
  /** Where its weights are in units of f16 and bf16, for kernels that read such units. See {@link loadLaneHalves}. */
  readonly halves?: U32 | undefined;
}

/** The place of a thread that reads units of `formats`. */
export function laneOf(k: PtxBuilder, thread: U32, formats: readonly UnitFormat[]): Lane {
  const lane = k.and(thread, lanes - 1);
  const [row, part] = [k.shiftRight(lane, 2), k.and(lane, 3)];
  return { lane, row, part, halves: formats.some(isPlain) ? quadOffset(k, row, part) : undefined };
}

/**
 * Offsets of codes before they are scaled. Codes are the last bits of f16 numbers of a larger power of two. The first two of each four
 * weights have the offset `low` and the remaining two `high`; both include the code's zero.
 */
interface CodeOffsets {
  readonly low: number;
  readonly high: number;
}

/** Numbers of the rows of a lane: row g and row g + 8. */
export type PerRow = readonly [F32, F32];

/** Pairs of f16 for the rows of a lane. */
export type PairPerRow = readonly [U32, U32];

/** A lane's part of a unit in registers. */
export interface LoadedUnit {
  /** The codes of chunk `chunk` as halves, each larger than the code by {@link codeOffsets}. */
  fragment(chunk: number): LeftFragment;
  /** Factor and summand of a group's weights; in steps of {@link steps} if the unit has them. */
  scale(group: number): PerRow;
  readonly minimum: ((group: number) => PerRow) | undefined;
  /** Scales and minima that are whole numbers, those of groups `2 pair` and `2 pair + 1`: some units with {@link steps} have them. */
  readonly wholeScales?: (pair: number) => PairPerRow;
  readonly wholeMinima?: (pair: number) => PairPerRow;
  /** Factor of all scales and of all minima. */
  readonly steps: { readonly scale: PerRow; readonly minimum: PerRow | undefined } | undefined;
}

// 1024 and 64 in f16, twice: the lowest bit of a nibble in bits 0 to 3, and in bits 4 to 7, counts 1.
const lowMagic = 0x64006400;
const highMagic = 0x54005400;

export function codeOffsets({ planes, zero, levels }: UnitFormat): CodeOffsets {
  if (levels !== undefined) return { low: 1024 + levelBias, high: 1024 + levelBias };
  const isBytes = planes[0]?.bits === 8;
  return { low: 1024 + zero, high: (isBytes ? 1024 : 64) + zero };
}

/** Reads a lane's part of the unit at `unit`. */
export function loadUnit(k: PtxBuilder, format: UnitFormat, unit: Shared<"u32">, lane: Lane): LoadedUnit {
  return { ...loadCodes(k, format, unit, lane), ...loadScales(k, format, unit, lane.row) };
}

/** Reads a lane's codes of the unit at `unit`. */
export function loadCodes(k: PtxBuilder, format: UnitFormat, unit: Shared<"u32">, lane: Lane): Pick<LoadedUnit, "fragment"> {
  if (isPlain(format)) {
    const wordsOf = loadLaneHalves(k, unit, lane.halves ?? missing("the place of halves"));
    return { fragment: (chunk) => fragmentOf((high) => wordsOf(chunk, high) as Pairs) };
  }
  const own: Shared<"u32"> = k.sharedAtBytes(unit, k.shiftLeft(lane.lane, 4));
  const words = format.planes.map(({ bits, offset }) => {
    const vectors = (bits * format.width) / 256;
    return Array.from({ length: vectors }, (_, i) => k.ldVector("u32", own, offset / 4 + 128 * i)).flat();
  });
  return { fragment: fragmentReader(k, format, words) };
}

/** Reads the halves of chunks. `words` are the lane's words of each plane, see `placeOf`. */
function fragmentReader(k: PtxBuilder, { planes, levels }: UnitFormat, words: readonly (readonly U32[])[]): LoadedUnit["fragment"] {
  const [first = []] = words;
  if (levels !== undefined) {
    const lookUp = levelReader(k, levels);
    const found: ReturnType<typeof lookUp>[] = [];
    const bytesOf = (word: number): ReturnType<typeof lookUp> => (found[word] ??= lookUp(elementAt(first, word)));
    return (chunk) => fragmentOf((high) => pairsOfBytes(k, bytesOf(2 * (chunk >> 1) + high)[(chunk & 1) as 0 | 1]));
  }
  switch (planes[0]?.bits) {
    case 8:
      return (chunk) => fragmentOf((high) => pairsOfBytes(k, elementAt(first, 2 * chunk + high)));
    default:
      return (chunk) => fragmentOf((high) => pairsOfPlanes(k, planes, words, { chunk, high }));
  }
}

/** Four halves of a row: the first two and the other two. */
type Pairs = readonly [low: U32, high: U32];

function fragmentOf(pairs: (high: 0 | 1) => Pairs): LeftFragment {
  const [upperRow, lowerRow] = both(pairs);
  return [upperRow[0], lowerRow[0], upperRow[1], lowerRow[1]];
}

function pairsOfBytes(k: PtxBuilder, word: U32): Pairs {
  return [k.pickBytes(word, lowMagic, 0x5150), k.pickBytes(word, lowMagic, 0x5352)];
}

/** Puts the bits of each plane into the last bits of larger numbers. */
function pairsOfPlanes(
  k: PtxBuilder,
  planes: readonly CodePlane[],
  words: readonly (readonly U32[])[],
  { chunk, high }: { readonly chunk: number; readonly high: 0 | 1 },
): Pairs {
  const parts = planes.map((plane, i) => {
    const { word, bit } = placeOf(plane, 8 * high, 16 * chunk);
    // Word `w` of lane 0 is its own word `4 * (w >> 7) + (w & 3)`: each lane has four words of every 128.
    const own = elementAt(elementAt(words, i), (word >> 7) * 4 + (word & 3));
    return { bits: shifted(k, own, bit - plane.from), mask: ((2 ** plane.bits - 1) << plane.from) * 0x00010001 };
  });
  const joined = (magic: number, shift: number): U32 => {
    const { bits, mask } = elementAt(parts, 0);
    const first = k.maskOr(bits, mask << shift, magic);
    return parts.slice(1).reduce((word, part) => k.maskOr(part.bits, part.mask << shift, word), first);
  };
  return [joined(lowMagic, 0), joined(highMagic, 4)];
}

function loadScales(k: PtxBuilder, format: UnitFormat, unit: Shared<"u32">, row: U32): Omit<LoadedUnit, "fragment"> {
  const { scales } = format;
  const rowAt = (offset: number, words: number): Shared<"u32"> => k.sharedAt("u32", unit, k.add(k.mul(row, words), offset / 4));
  switch (scales.kind) {
    case "none":
      return { scale: () => both(() => k.constant("f32", 1)), minimum: undefined, steps: undefined };
    case "halves": {
      // Eight halves of a row are 16 bytes.
      const halvesFrom = (offset: number, factor: number): LoadedUnit["scale"] => {
        const from = rowAt(offset, 4);
        const words = both((which) => k.ldVector("u32", from, 32 * which));
        const pairs = new Map<number, readonly [readonly [F32, F32], readonly [F32, F32]]>();
        return (group) => {
          const pair = pairs.get(group >> 1) ?? both((which) => k.halfPair(elementAt(words[which], group >> 1)));
          pairs.set(group >> 1, pair);
          return both((which) => times(k, elementAt(pair[which], group & 1), factor));
        };
      };
      const minimum = scales.m === undefined ? undefined : halvesFrom(scales.m, 1);
      return { scale: halvesFrom(scales.d, scales.factor), minimum, steps: undefined };
    }
    case "bytes": {
      const count = format.width / format.groupSize === 16 ? 4 : 2;
      const from = rowAt(scales.scales, count);
      const bytes = both((which) => k.ldVector("u32", from, 8 * count * which, count));
      const words = both((which) => bytes[which].map((word) => scalesOfWord(k, scales, word)));
      const scale: LoadedUnit["scale"] = (group) => both((which) => elementAt(words[which], group >> 2)(group & 3));
      if (scales.d === undefined) return { scale, minimum: undefined, steps: undefined };
      const d = k.halfPair(k.ld("u32", rowAt(scales.d, 1)));
      const steps = { scale: both((which) => times(k, d[which], scales.factor)), minimum: undefined };
      return { scale, minimum: undefined, steps, ...(scales.floats === undefined && { wholeScales: pairsOf(k, bytes, scales.zero) }) };
    }
    case "nibbles": {
      const from = rowAt(scales.scales, 4);
      const words = both((which) => k.ldVector("u32", from, 32 * which));
      const bytes = both((number) => both((which) => words[which].map((word) => k.and(shifted(k, word, 4 * number), 0x0f0f0f0f))));
      return { ...wholeNumbers(k, bytes), steps: stepPairs(k, rowAt(scales.d, 1)) };
    }
    case "sixBits": {
      const [lowFrom, highFrom] = [rowAt(scales.low, 2), rowAt(scales.high, 1)];
      const words = both((which) => ({ low: k.ldVector("u32", lowFrom, 16 * which, 2), high: k.ld("u32", highFrom, 8 * which) }));
      // Scales, then minima; each is four groups in the bytes of a word, then four more.
      const bytes = both((number) =>
        both((which) =>
          both((upper) => {
            const { low, high } = words[which];
            const nibbles = k.and(shifted(k, elementAt(low, number), 4 * upper), 0x0f0f0f0f);
            return k.maskOr(shifted(k, high, 4 * number + 2 * upper - 4), 0x30303030, nibbles);
          }),
        ),
      );
      return { ...wholeNumbers(k, bytes), steps: stepPairs(k, rowAt(scales.d, 1)) };
    }
  }
}

/** Bytes of rows, four groups a word. */
type ByteRows = readonly [readonly U32[], readonly U32[]];

/** Scales and minima that are bytes. */
function wholeNumbers(k: PtxBuilder, [scales, minima]: readonly [ByteRows, ByteRows]): Omit<LoadedUnit, "fragment" | "steps"> {
  const floatsOf =
    (bytes: ByteRows): LoadedUnit["scale"] =>
    (group) =>
      both((which) => k.byteToFloat(elementAt(bytes[which], group >> 2), group & 3));
  return { scale: floatsOf(scales), minimum: floatsOf(minima), wholeScales: pairsOf(k, scales, 0), wholeMinima: pairsOf(k, minima, 0) };
}

function pairsOf(k: PtxBuilder, bytes: ByteRows, zero: number): (pair: number) => PairPerRow {
  return (pair) => both((which) => k.bytesToPair(elementAt(bytes[which], pair >> 1), 2 * (pair & 1), zero));
}

/** Rows g and g + 8 of a lane. */
export function both<T>(read: (which: 0 | 1) => T): readonly [T, T] {
  return [read(0), read(1)];
}

/** The steps of scales and of minima, two halves of each row. */
export function stepPairs(k: PtxBuilder, from: Shared<"u32">): LoadedUnit["steps"] {
  const steps = both((which) => k.halfPair(k.ld("u32", from, 8 * which)));
  return { scale: both((which) => steps[which][0]), minimum: both((which) => k.neg(steps[which][1])) };
}

/** @throws always: something that the kernel's sizes promise is not there */
export function missing(what: string): never {
  throw new RangeError(`expected ${what}, got none; this is a bug, please report it`);
}
