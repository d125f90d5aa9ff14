import { type FunctionBuilder, type FunctionRef, i32, type Local, type ModuleBuilder, v128 } from "../emit/index.ts";
import { allQuads, groupRows, type Pair } from "../formats/block.ts";
import type { GroupFormat } from "../formats/format.ts";
import type { FormatName } from "../formats/index.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import type { Target } from "../target.ts";
import type { ActivationLayout } from "./activations.ts";
import { keptBytes } from "./keptWeights.ts";

/** Common inputs of the emitters of a block format. */
export interface Emission {
  readonly module: ModuleBuilder;
  readonly target: Target;
  readonly name: FormatName;
  readonly format: GroupFormat;
  readonly layout: ActivationLayout;
  readonly store: Store;
}

/** Parameters of products with a single token. */
export const singleSignature = { w: "i32", a: "i32", y: "i32", rows: "i32", blocks: "i32" } as const;

/** Parameters of products with tiles of tokens. */
export const tilesSignature = {
  w: "i32",
  a: "i32",
  y: "i32",
  rows: "i32",
  blocks: "i32",
  yBytes: "i32",
  threadScratch: "i32",
  tiles: "i32",
} as const;

/** Bytes of a group's results for one token. */
export const rowBytes: number = 4 * groupRows;

/** Pairs of tokens that share a block's unpacked weights. */
export const pairsAtOnce = 32;

const totalBytes = 2 * 16 * allQuads.length;

/** Layout of a thread's scratch: totals of a tile, a block's unpacked weights, sums of tiles. */
export const places: { readonly totals: number; readonly weights: number; readonly sums: number } = {
  totals: 0,
  weights: totalBytes,
  sums: totalBytes + keptBytes,
};

/** Bytes of a thread's scratch. */
export const groupScratchBytes: number = places.sums + 2 * 2 * rowBytes * pairsAtOnce;

const storeSignature = { y: "i32", scratch: "i32", yBytes: "i32", tokens: "i32", rows: "i32" } as const;

export type Store = FunctionRef<typeof storeSignature, undefined>;

/** Emits a function that stores a group's sums from scratch to `y`: eight rows, or the remaining ones. */
export function emitStore(module: ModuleBuilder): Store {
  return module.function("groups.store", storeSignature, (f, { y, scratch, yBytes, tokens, rows }) => {
    f.while(tokens, () => {
      const [low, high] = [f.let(v128.load(scratch)), f.let(v128.load(scratch, 16))];
      storeRows(f, y, [low, high], rows);
      f.advance(y, yBytes);
      f.advance(scratch, rowBytes);
      f.advance(tokens, -1);
    });
  });
}

/** Stores the sums of eight rows, or the remaining ones. */
export function storeRows(f: FunctionBuilder, y: Local<"i32">, [low, high]: Pair, rows: Local<"i32">): void {
  f.if(
    i32.geU(rows, groupRows),
    () => {
      f.store(y, low);
      f.store(y, high, 16);
    },
    () => {
      storeLanes(f, y, low, rows);
      f.if(i32.gtU(rows, 4), () => storeLanes(f, f.let(i32.add(y, 16)), high, i32.sub(rows, 4)));
    },
  );
}
