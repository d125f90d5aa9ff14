import { mapTuple } from "@centella/core/backend";
import type { V128 } from "../emit/index.ts";
import type { Half } from "./block.ts";
import { fiveBitExchange, fiveBits, type Stretches } from "./fiveBits.ts";
import type { BitExchange, BlockContext, GroupFormat } from "./format.ts";
import { nibbleOrder } from "./q4_0.ts";

/** Interleaved words with the codes of a block of q5_0 or q5_1: nibbles, and transposed fifth bits at `at`. */
const stretchesFrom = (at: number): Stretches => [at + 4, at + 8, at + 12, at + 16, at];

/** The bit exchange for fifth bits at `at`. */
export function fifthsExchange(at: number): BitExchange {
  return fiveBitExchange(stretchesFrom(at), 4, nibbleOrder);
}

/** The order that reads words the fewest times. */
export const fiveBitOrder: readonly number[] = mapTuple([0, 1, 5, 2, 3, 6, 4, 7], (code) => nibbleOrder[code]);

const unitOrder: readonly number[] = nibbleOrder;

/** Codes of unit `index` of q5_0 and q5_1, with fifth bits at `at`. */
export function fiveBitUnit({ f, block }: BlockContext, at: number, index: number, half: Half): V128 {
  return fiveBits(f, (byte) => block.word(stretchesFrom(at)[byte], half), unitOrder.indexOf(index));
}

export const q5_0: GroupFormat = {
  elements: 32,
  bytes: 22,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 4, count: 1, areBitsTransposed: true },
    { at: 6, unit: 4, count: 4 },
  ],
  bitExchange: fifthsExchange(2),
  rounding: "q8_0",
  largestCode: 31,
  biasBits: 4,
  runElements: 32,
  unitOrder: fiveBitOrder,
  codes: (context, index, half) => fiveBitUnit(context, 2, index, half),
  d: ({ block }, half) => block.halves(0, half),
};
