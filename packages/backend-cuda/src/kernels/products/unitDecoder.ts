import { elementAt, mapTuple } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import type { LeftFragment } from "../../ptx/matrix.ts";
import type { Shared } from "../../ptx/types.ts";
import type { CodePlane, UnitFormat } from "../../weights/unitFormat.ts";

/** A lane's place in its warp: `lane = 4 * row + part`. */
export interface Lane {
  readonly lane: U32;
  readonly row: U32;
  readonly part: U32;
}

/**
 * What codes are before they are scaled: f16 numbers of a larger power of two, whose last bits are the code. Of each four weights, the first
 * two have the offset `low` and the others `high`, less the code's zero.
 */
export interface CodeOffsets {
  readonly low: number;
  readonly high: number;
}

/** Numbers of the rows of a lane: row g and row g + 8. */
export type PerRow = readonly [F32, F32];

/** A lane's part of a unit in registers. */
export interface LoadedUnit {
  /** The codes of chunk `chunk` as halves, each larger than the code by {@link codeOffsets}. */
  fragment(chunk: number): LeftFragment;
  /** Factor and summand of a group's weights; in steps of {@link steps} if the unit has them. */
  scale(group: number): PerRow;
  readonly minimum: ((group: number) => PerRow) | undefined;
  /** Factor of all scales and of all minima. */
  readonly steps: { readonly scale: PerRow; readonly minimum: PerRow | undefined } | undefined;
}

// 1024 and 64 in f16, twice: the lowest bit of a nibble in bits 0 to 3, and in bits 4 to 7, counts 1.
const lowMagic = 0x64006400;
const highMagic = 0x54005400;

export function codeOffsets({ planes, zero }: UnitFormat): CodeOffsets {
  const isBytes = planes[0]?.bits === 8;
  return { low: 1024 + zero, high: (isBytes ? 1024 : 64) + zero };
}

/** Reads a lane's part of the unit at `unit`. */
export function loadUnit(k: PtxBuilder, format: UnitFormat, unit: Shared<"u32">, lane: Lane): LoadedUnit {
  return { ...loadCodes(k, format, unit, lane), ...loadScales(k, format, unit, lane.row) };
}

/** Reads a lane's codes of the unit at `unit`. */
export function loadCodes(k: PtxBuilder, format: UnitFormat, unit: Shared<"u32">, lane: Lane): Pick<LoadedUnit, "fragment"> {
  const own: Shared<"u32"> = k.sharedAtBytes(unit, k.shiftLeft(lane.lane, 4));
  const words = format.planes.map(({ bits, offset }) => {
    const vectors = (bits * format.width) / 256;
    return Array.from({ length: vectors }, (_, i) => k.ldVector("u32", own, offset / 4 + 128 * i)).flat();
  });
  return { fragment: (chunk) => fragmentOf(k, format.planes, words, chunk) };
}

/** The halves of a chunk. `words` are the lane's words of each plane, see `placeOf`. */
function fragmentOf(k: PtxBuilder, planes: readonly CodePlane[], words: readonly (readonly U32[])[], chunk: number): LeftFragment {
  const [first = [], second = []] = words;
  const bits = planes[0]?.bits;
  if (bits === 16) return mapTuple([0, 1, 2, 3] as const, (i) => elementAt(first, 4 * chunk + i));
  const [pair, odd] = [chunk >> 1, chunk & 1];
  const rows = [0, 1].map((high): readonly [low: U32, high: U32] => {
    if (bits === 8) {
      const word = elementAt(first, 2 * chunk + high);
      return [k.pickBytes(word, lowMagic, 0x5150), k.pickBytes(word, lowMagic, 0x5352)];
    }
    const nibbles = shifted(k, elementAt(first, 2 * pair + high), 8 * odd);
    const [low, upper] = [k.maskOr(nibbles, 0x000f000f, lowMagic), k.maskOr(nibbles, 0x00f000f0, highMagic)];
    const more = planes[1];
    if (more === undefined) return [low, upper];
    // The bits above the nibble, moved to bits 4 and 8.
    const isPairs = more.bits === 2;
    const at = isPairs ? 8 * odd + 2 * high : 8 * odd + 2 * (pair & 1) + high;
    const extra = shifted(k, elementAt(second, isPairs ? pair : pair >> 1), at - 4);
    const mask = isPairs ? 0x00300030 : 0x00100010;
    return [k.maskOr(extra, mask, low), k.maskOr(extra, mask * 16, upper)];
  });
  const [upperRow, lowerRow] = rows as [readonly [U32, U32], readonly [U32, U32]];
  return [upperRow[0], lowerRow[0], upperRow[1], lowerRow[1]];
}

/** A word with its bits moved down by `bits`, or up by `-bits`. */
function shifted(k: PtxBuilder, word: U32, bits: number): U32 {
  if (bits === 0) return word;
  return bits > 0 ? k.shiftRight(word, bits) : k.shiftLeft(word, -bits);
}

function loadScales(k: PtxBuilder, { scales }: UnitFormat, unit: Shared<"u32">, row: U32): Omit<LoadedUnit, "fragment"> {
  const rowAt = (offset: number, words: number): Shared<"u32"> => k.sharedAt("u32", unit, k.add(k.mul(row, words), offset / 4));
  const both = <T>(read: (which: 0 | 1) => T): readonly [T, T] => [read(0), read(1)];
  switch (scales.kind) {
    case "none":
      return { scale: () => both(() => k.constant("f32", 1)), minimum: undefined, steps: undefined };
    case "halves": {
      // Eight halves of a row are 16 bytes.
      const halvesFrom = (offset: number): ((group: number) => PerRow) => {
        const from = rowAt(offset, 4);
        const words = both((which) => k.ldVector("u32", from, 32 * which));
        const pairs = new Map<number, readonly [readonly [F32, F32], readonly [F32, F32]]>();
        return (group) => {
          const pair = pairs.get(group >> 1) ?? both((which) => k.halfPair(elementAt(words[which], group >> 1)));
          pairs.set(group >> 1, pair);
          return both((which) => elementAt(pair[which], group & 1));
        };
      };
      return { scale: halvesFrom(scales.d), minimum: scales.m === undefined ? undefined : halvesFrom(scales.m), steps: undefined };
    }
    case "bytes": {
      const from = rowAt(scales.scales, 4);
      const words = both((which) => k.ldVector("u32", from, 32 * which));
      const scale = k.halfPair(k.ld("u32", rowAt(scales.d, 1)));
      return {
        scale: (group) => both((which) => k.byteToFloat(elementAt(words[which], group >> 2), group & 3, scales.zero)),
        minimum: undefined,
        steps: { scale, minimum: undefined },
      };
    }
    case "sixBits": {
      const [lowFrom, highFrom, stepsFrom] = [rowAt(scales.low, 2), rowAt(scales.high, 1), rowAt(scales.d, 1)];
      const bytes = both((which) => {
        const low = k.ldVector("u32", lowFrom, 16 * which, 2);
        const high = k.ld("u32", highFrom, 8 * which);
        // Of scales and of minima: four groups in the bytes of a word, then four more.
        return both((number) =>
          both((upper) => {
            const nibbles = k.and(shifted(k, elementAt(low, number), 4 * upper), 0x0f0f0f0f);
            return k.maskOr(shifted(k, high, 4 * number + 2 * upper - 4), 0x30303030, nibbles);
          }),
        );
      });
      const numbers =
        (number: 0 | 1) =>
        (group: number): PerRow =>
          both((which) => k.byteToFloat(elementAt(bytes[which][number], group >> 2), group & 3));
      const steps = both((which) => k.halfPair(k.ld("u32", stepsFrom, 8 * which)));
      return {
        scale: numbers(0),
        minimum: numbers(1),
        steps: { scale: both((which) => steps[which][0]), minimum: both((which) => k.neg(steps[which][1])) },
      };
    }
  }
}
