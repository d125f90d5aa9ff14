import type { F32, U32 } from "@centella/gpu-kernels";
import { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global } from "../../../ptx/types.ts";
import { type KernelText, textPerSize } from "../../../weights/kernelText.ts";
import { groupScale } from "../../../weights/readUnits.ts";
import { type UnitFormat, type UnitMatrix, unitRows } from "../../../weights/unitFormat.ts";
import { halfScale } from "../../shared/halfScale.ts";

/**
 * Each row tile of a weight in units has a power of two, which its weights are multiplied by before they are rounded to f16: no magnitude
 * reaches 2^15. The powers follow the units in memory, each with its inverse. f16 and bf16 weights, which are not rounded, have none.
 */
export const tilePowersEntry = "tilePowers";

export const tilePowersThreads = 256;

/** Largest finite f32. */
const maxFinite = 2 ** 127 * (2 - 2 ** -23);

/** The text of the kernel that finds the powers of two of row tiles of `units` units, a block for each. Parameters: the units, then the powers. */
export const tilePowersKernel: KernelText = textPerSize((format, units) => {
  const k = new PtxEmitter(tilePowersEntry, { units: "u32", powers: "f32" }, tilePowersThreads);
  const groups = format.width / format.groupSize;
  const firstUnit = k.mul(k.block(), units);
  const largest = k.variable("f32", 0);
  k.for(k.thread(), units * unitRows * groups, tilePowersThreads, (number) => {
    const weight = k.mul(k.and(number, groups - 1), format.groupSize);
    const row = k.and(k.shiftRight(number, Math.log2(groups)), unitRows - 1);
    const unit = k.add(firstUnit, k.shiftRight(number, Math.log2(unitRows * groups)));
    const { scale, minimum } = groupScale(k, format, k.atBytes(k.pointer("units", "u32"), unit, format.bytes), { row, weight });
    const product = k.mul(k.abs(scale), largestLevel(format));
    const bound = minimum === undefined ? product : k.add(product, k.abs(minimum));
    // Weights that are not finite have no part in the others' power.
    k.if(k.compare("le", bound, maxFinite), () => largest.set(k.max(largest.get(), bound)));
  });
  const [found] = k.reducer(["f32"])([largest.get()], ([a], [b]) => [k.max(a, b)]);
  // Scales of 0 may have steps that a large power would make infinite.
  const { factor, inverse } = halfScale(k, k.select(k.compare("gt", found, 0), found, 1));
  k.if(k.compare("eq", k.thread(), 0), () => {
    const own = k.at("f32", k.pointer("powers", "f32"), k.mul(k.block(), 2));
    k.st("f32", own, factor);
    k.st("f32", own, inverse, 1);
  });
  return k.text();
});

/** The largest magnitude of the whole numbers that codes stand for. */
function largestLevel({ levels, zero, planes }: UnitFormat): number {
  if (levels !== undefined) return Math.max(...levels.map(Math.abs));
  const codes = 2 ** planes.reduce((sum, { bits }) => sum + bits, 0);
  return Math.max(zero, codes - 1 - zero);
}

/** The power of two of a row tile, and its inverse, of the weight that parameter `name` points to. */
export function tilePower(k: PtxEmitter, name: string, { tiles, units, format }: UnitMatrix, tile: U32): TilePower {
  const powers = k.atBytes(k.pointer(name, "f32"), k.constant("u32", tiles), units * format.bytes);
  const own: Global<"f32"> = k.at("f32", powers, k.mul(tile, 2));
  return { factor: () => k.ld("f32", own), inverse: () => k.ld("f32", own, 1) };
}

interface TilePower {
  factor(): F32;
  inverse(): F32;
}
