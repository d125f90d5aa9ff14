import { elementAt } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import type { Shared } from "../../ptx/types.ts";
import { scalesOfWord, shifted, times } from "../../weights/scales.ts";
import type { UnitFormat, UnitScales } from "../../weights/unitFormat.ts";
import { both, type Lane, type LoadedUnit, stepPairs } from "./unitDecoder.ts";

/** Groups whose products one matrix product has in its columns, and groups that a lane scales of those. */
export const columnGroups = 8;
export const laneGroups = 2;

type LoadedScales = Pick<LoadedUnit, "scale" | "minimum" | "steps">;

/**
 * Reads the scales of a lane's own groups: its group `i` is group `8 floor(i / 2) + 2 part + i % 2` of the unit. A warp reads each scale once.
 */
export function loadGroupScales(k: PtxBuilder, { scales, width, groupSize }: UnitFormat, unit: Shared<"u32">, lane: Lane): LoadedScales {
  switch (scales.kind) {
    case "none":
      throw new RangeError("expected a type with scales; this is a bug, please report it");
    case "halves":
      return halves(k, scales, unit, lane);
    case "bytes":
      return bytes(k, scales, unit, lane, width / groupSize);
    case "nibbles":
      return nibbles(k, scales, unit, lane);
    case "sixBits":
      return sixBits(k, scales, unit, lane);
  }
}

type ScalesOf<Kind> = Extract<UnitScales, { readonly kind: Kind }>;

function halves(k: PtxBuilder, { d, m, factor }: ScalesOf<"halves">, unit: Shared<"u32">, { row, part }: Lane): LoadedScales {
  const own = k.sharedAt("u32", unit, k.mad(row, 4, part));
  const of = (offset: number, by: number): LoadedUnit["scale"] => {
    const pairs = both((which) => k.halfPair(k.ld("u32", own, offset / 4 + 32 * which)));
    return (group) => both((which) => times(k, elementAt(pairs[which], group), by));
  };
  return { scale: of(d, factor), minimum: m === undefined ? undefined : of(m, 1), steps: undefined };
}

/** Two bytes of a row's own groups, of eight groups each. */
function bytePairs(k: PtxBuilder, at: number, unit: Shared<"u32">, { row, part }: Lane, groups: number): readonly (readonly [U32, U32])[] {
  const own: Shared<"b16"> = k.sharedAtBytes(unit, k.mad(row, groups, k.shiftLeft(part, 1)));
  return Array.from({ length: groups / columnGroups }, (_, half) =>
    both((which) => k.widen(k.ld("b16", own, at / 2 + (columnGroups / 2) * half + 4 * groups * which))),
  );
}

function bytes(k: PtxBuilder, scales: ScalesOf<"bytes">, unit: Shared<"u32">, lane: Lane, groups: number): LoadedScales {
  const pairs = bytePairs(k, scales.scales, unit, lane, groups).map((pair) => both((which) => scalesOfWord(k, scales, pair[which])));
  const scale: LoadedUnit["scale"] = (group) => both((which) => elementAt(pairs, group >> 1)[which](group & 1));
  if (scales.d === undefined) return { scale, minimum: undefined, steps: undefined };
  const d = k.halfPair(k.ld("u32", k.sharedAt("u32", unit, lane.row), scales.d / 4));
  return { scale, minimum: undefined, steps: { scale: both((which) => times(k, d[which], scales.factor)), minimum: undefined } };
}

function nibbles(k: PtxBuilder, scales: ScalesOf<"nibbles">, unit: Shared<"u32">, lane: Lane): LoadedScales {
  const pairs = bytePairs(k, scales.scales, unit, lane, 2 * columnGroups);
  const of = (number: 0 | 1): LoadedUnit["scale"] => {
    const numbers = pairs.map((pair) => both((which) => k.and(shifted(k, pair[which], 4 * number), 0x0f0f)));
    return (group) => both((which) => k.byteToFloat(elementAt(numbers, group >> 1)[which], group & 1));
  };
  return { scale: of(0), minimum: of(1), steps: stepPairs(k, k.sharedAt("u32", unit, k.add(lane.row, scales.d / 4))) };
}

function sixBits(k: PtxBuilder, { low, high, d }: ScalesOf<"sixBits">, unit: Shared<"u32">, { row, part }: Lane): LoadedScales {
  // Groups 0 to 3 have the lower bits of their bytes, groups 4 to 7 the upper ones.
  const upper = k.shiftRight(part, 1);
  const at = k.shiftLeft(k.and(part, 1), 4);
  const [lowBits, highBits] = [k.mad(upper, 4, at), k.mad(upper, 2, at)];
  const ownRow = k.sharedAt("u32", unit, row);
  const ownPair = k.sharedAt("u32", unit, k.shiftLeft(row, 1));
  const rows = both((which) => {
    const words = k.ldVector("u32", ownPair, low / 4 + 16 * which, 2);
    const more = k.shiftRight(k.ld("u32", ownRow, high / 4 + 8 * which), highBits);
    return both((number) => {
      const nibbles = k.and(k.shiftRight(elementAt(words, number), lowBits), 0x0f0f);
      return k.maskOr(number === 0 ? k.shiftLeft(more, 4) : more, 0x3030, nibbles);
    });
  });
  const of =
    (number: 0 | 1): LoadedUnit["scale"] =>
    (group) =>
      both((which) => k.byteToFloat(rows[which][number], group));
  return { scale: of(0), minimum: of(1), steps: stepPairs(k, k.sharedAt("u32", unit, k.add(row, d / 4))) };
}
