import { elementAt } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import type { Shared } from "../../ptx/types.ts";
import type { UnitFormat, UnitScales } from "../../weights/unitFormat.ts";
import type { Lane, LoadedUnit, PerRow } from "./unitDecoder.ts";

/** Groups whose products one matrix product has in its columns, and groups that a lane scales of those. */
export const columnGroups = 8;
export const laneGroups = 2;

type LoadedScales = Pick<LoadedUnit, "scale" | "minimum" | "steps">;

/**
 * Reads the scales of a lane's own groups: its group `i` is group `8 floor(i / 2) + 2 part + i % 2` of the unit. A warp reads each scale once.
 */
export function loadGroupScales(k: PtxBuilder, { scales }: UnitFormat, unit: Shared<"u32">, lane: Lane): LoadedScales {
  switch (scales.kind) {
    case "none":
      throw new RangeError("expected a type with scales; this is a bug, please report it");
    case "halves":
      return halves(k, scales, unit, lane);
    case "bytes":
      return bytes(k, scales, unit, lane);
    case "sixBits":
      return sixBits(k, scales, unit, lane);
  }
}

type ScalesOf<Kind> = Extract<UnitScales, { readonly kind: Kind }>;

/** Rows g and g + 8, which the lane has parts of. */
function both<T>(read: (which: 0 | 1) => T): readonly [T, T] {
  return [read(0), read(1)];
}

function halves(k: PtxBuilder, { d, m }: ScalesOf<"halves">, unit: Shared<"u32">, { row, part }: Lane): LoadedScales {
  const own = k.sharedAt("u32", unit, k.mad(row, 4, part));
  const of = (offset: number): LoadedUnit["scale"] => {
    const pairs = both((which) => k.halfPair(k.ld("u32", own, offset / 4 + 32 * which)));
    return (group) => both((which) => elementAt(pairs[which], group));
  };
  return { scale: of(d), minimum: m === undefined ? undefined : of(m), steps: undefined };
}

function bytes(k: PtxBuilder, { scales, zero, d }: ScalesOf<"bytes">, unit: Shared<"u32">, { row, part }: Lane): LoadedScales {
  const own: Shared<"b16"> = k.sharedAtBytes(unit, k.mad(row, 16, k.shiftLeft(part, 1)));
  const pairs = [0, 1].map((half) => both((which) => k.widen(k.ld("b16", own, scales / 2 + 4 * half + 64 * which))));
  const scale = k.halfPair(k.ld("u32", k.sharedAt("u32", unit, row), d / 4));
  return {
    scale: (group) => both((which) => k.byteToFloat(elementAt(pairs, group >> 1)[which], group & 1, zero)),
    minimum: undefined,
    steps: { scale, minimum: undefined },
  };
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
    const numbers = both((number) => {
      const nibbles = k.and(k.shiftRight(elementAt(words, number), lowBits), 0x0f0f);
      return k.maskOr(number === 0 ? k.shiftLeft(more, 4) : more, 0x3030, nibbles);
    });
    return { numbers, steps: k.halfPair(k.ld("u32", ownRow, d / 4 + 8 * which)) };
  });
  const of =
    (number: 0 | 1) =>
    (group: number): PerRow =>
      both((which): F32 => k.byteToFloat(rows[which].numbers[number] satisfies U32, group));
  return {
    scale: of(0),
    minimum: of(1),
    steps: { scale: both((which) => rows[which].steps[0]), minimum: both((which) => k.neg(rows[which].steps[1])) },
  };
}
