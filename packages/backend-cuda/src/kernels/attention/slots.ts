import type { Bool, U32 } from "@centella/gpu-kernels";
import type { Scope } from "../shared/kernel.ts";

/** The slot of a position. A table with entries beyond the cache gives slots beyond it. `tableRow` is the index of the sequence's first entry. */
export function slotOf(scope: Scope, blockSize: number, tableRow: U32, position: U32): U32 {
  return slotInBlock(scope, blockSize, blockOf(scope, blockSize, tableRow, position), position);
}

/** The block of a position, as {@link slotOf} looks it up. */
export function blockOf({ k }: Scope, blockSize: number, tableRow: U32, position: U32): U32 {
  return k.bitcast("u32", k.loadInteger("blockTable", k.add(tableRow, k.quotient(position, blockSize))));
}

/** The slot of a position whose block is known. */
export function slotInBlock({ k }: Scope, blockSize: number, block: U32, position: U32): U32 {
  return k.mad(block, blockSize, k.remainder(position, blockSize));
}

/** Whether a slot is in the cache, and a slot that may be read in its place. */
export function storedSlot({ k }: Scope, slot: U32, slots: U32 | number): { readonly isStored: Bool; readonly slot: U32 } {
  const isStored = k.compare("lt", slot, slots);
  return { isStored, slot: k.select(isStored, slot, 0) };
}
