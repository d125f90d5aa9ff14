import type { Emitter, U32, Variable } from "../emitter.ts";
import { blockLength, forEachKey, type RowOptions, type RowWeights, type WorkRow } from "./row.ts";
import type { WideSum } from "./wide.ts";

/** A row whose choice is being written, and what all parts of the choice use. */
export interface Draw {
  readonly k: Emitter;
  readonly row: U32;
  readonly work: WorkRow;
  /** Number of blocks. */
  readonly blocks: number;
  readonly options: RowOptions;
  readonly weights: RowWeights;
  readonly random: U32;
  readonly sum: WideSum;
  readonly scan: WideSum;
  /** The greatest u32 of the group's. */
  readonly most: (own: U32) => U32;
}

/** What is kept: logits with greater keys, and those with this key whose index is below `end`. */
export interface Cut {
  readonly key: Variable<"u32">;
  readonly end: Variable<"u32">;
}

/** Visits the logits of a block whose keys are at least `least`, if there are any. */
export function visitBlock(k: Emitter, work: WorkRow, block: U32, least: U32, body: (key: U32, id: U32) => void): void {
  k.if(k.compare("ge", work.greatest(block), least), () =>
    forEachKey(k, work, block, (key, i) => {
      k.if(k.compare("ge", key, least), () => body(key, k.add(k.mul(block, blockLength), i)));
    }),
  );
}
