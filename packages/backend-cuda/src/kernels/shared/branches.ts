import { elementAt } from "@centella/core/backend";
import { type Bool, isBelow, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Var } from "../../ptx/writer.ts";

/** Runs `body` for item `number` of a list. A variable is read for each comparison. */
export function oneOf<T>(k: PtxEmitter, number: U32 | Var<"u32">, items: readonly T[], body: (item: T, index: number) => void): void {
  const isAt = (index: number): Bool => k.compare("eq", typeof number === "object" ? number.get() : number, index);
  firstOf(k, items.length, isAt, (index) => body(elementAt(items, index), index));
}

/** Runs `body` for the first of the ranges that end at `ends`, in rising order, whose end is above `value`. The last range has no end. */
export function rangeOf(k: PtxEmitter, value: U32, ends: readonly number[], body: (index: number) => void): void {
  firstOf(k, ends.length, (index) => isBelow(k, value, elementAt(ends, index)), body);
}

/** Runs `body` for the first index that is chosen, or for the last one below `count`. Each branch is text of its own. */
function firstOf(k: PtxEmitter, count: number, isChosen: (index: number) => Bool, body: (index: number) => void): void {
  const from = (index: number): void => {
    const run = (): void => body(index);
    if (index === count - 1) run();
    else k.if(isChosen(index), run, () => from(index + 1));
  };
  from(0);
}
