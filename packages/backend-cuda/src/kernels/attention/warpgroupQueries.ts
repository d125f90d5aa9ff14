import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { LeftFragment, SumFragment } from "../../ptx/matrix.ts";
import type { WarpgroupSums } from "../../ptx/warpgroup.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Scope } from "../shared/kernel.ts";
import { lanes } from "../shared/product.ts";
import type { Piece } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, tileRows, tokenQuery } from "./problem.ts";
import { leftFragments, loadQueries } from "./queries.ts";
import { outputShare, type QueryBlock, queryRow, type TileRow } from "./queryBlock.ts";
import { RowSoftmaxes } from "./softmax.ts";
import { blockPositions, consumers, SwizzledStages, warpgroupLanes } from "./swizzledStages.ts";

/** Registers of a thread that copies, and of one that multiplies. */
const copyRegisters = 24;
const productRegisters = 240;

/** Threads of a block: a warpgroup that copies, after those that multiply. */
export const warpgroupThreads: number = (consumers + 1) * warpgroupLanes;

/** Rows of a block. */
export const warpgroupRows: number = consumers * 64;

/** Whether warpgroups take a call: halves, whole rows of swizzled pieces, and blocks of the cache that cover a stage. */
export function takesWarpgroups(
  { inputs: [, cache], gpu }: AttentionCall,
  { blockSize, softcap, alibi }: AttentionParams,
  { keyWidth, valueWidth, valueBlocks }: AttentionSizes,
): boolean {
  const isWhole = valueBlocks === 1 && [keyWidth, valueWidth].every((width) => width === 64 || width === 128);
  const [slots] = cache.shape;
  const isTiled = blockSize % blockPositions === 0 && typeof slots === "number" && slots % blockSize === 0;
  // Both together take more registers than there are.
  const isSimple = softcap === 0 || alibi === 0;
  return gpu.target === "sm_90a" && cache.dtype === "f16" && isWhole && isTiled && isSimple;
}

/**
 * The body of a block for many tokens: a warpgroup copies keys and values to shared memory, two others multiply them with 64 rows of queries
 * each. A warpgroup starts the products of the next keys before it adds the values that it has weighed, so its tensor cores work while it
 * computes weights.
 */
export function warpgroupQueries(
  scope: Scope,
  call: AttentionCall,
  form: { readonly params: AttentionParams; readonly sizes: AttentionSizes },
  block: QueryBlock,
): void {
  const { k } = scope;
  k.blocksPerMultiprocessor = 1;
  const { first, count, high } = seenByBlock(scope, call, form.params, block);
  const stages = new SwizzledStages(scope, call, form, { tableRow: block.tableRow, kvHead: block.kvHead, first, count, high });
  k.sync();
  k.if(
    k.compare("ge", k.thread(), consumers * warpgroupLanes),
    () => {
      k.setRegisters("decrease", copyRegisters);
      stages.copy();
    },
    () => {
      k.setRegisters("increase", productRegisters);
      new Consumer(scope, call, { ...form, block }, stages).run();
    },
  );
}

/** The positions that the tokens of a block see: stages from `first` on, and their end. */
function seenByBlock(
  scope: Scope,
  call: AttentionCall,
  params: AttentionParams,
  { tokens }: QueryBlock,
): { readonly first: U32; readonly count: U32; readonly high: U32 } {
  const { k } = scope;
  const own = k.add(tokens.first, k.thread());
  const query = tokenQuery(scope, call, params, k.min(own, k.sub(tokens.end, 1)));
  const reduce = k.reducer(["u32", "u32"]);
  const isSeen = k.compare("lt", query.low, query.high);
  const [low, high] = reduce([k.select(isSeen, query.low, 2 ** 31 - 1), k.select(isSeen, query.high, 0)], ([a, b], [c, d]) => [
    k.min(a, c),
    k.max(b, d),
  ]);
  const { positions } = SwizzledStages;
  const first = k.and(low, -positions >>> 0);
  const left = k.sub(k.max(high, first), first);
  return { first, count: k.quotient(k.add(left, positions - 1), positions), high };
}

/** A warpgroup that multiplies. */
class Consumer {
  readonly #scope: Scope;
  readonly #form: { readonly params: AttentionParams; readonly sizes: AttentionSizes; readonly block: QueryBlock };
  readonly #hasSinks: boolean;
  readonly #stages: SwizzledStages;
  readonly #part: U32;
  readonly #rows: readonly TileRow[];
  readonly #query: readonly LeftFragment[];
  readonly #softmaxes: RowSoftmaxes;
  readonly #scores: WarpgroupSums;
  readonly #outputs: WarpgroupSums;
  /** The weights of the stage whose values are not added yet, as left matrices. */
  readonly #weights: readonly Var<"u32">[];
  /** What the outputs of each row are multiplied by before the next values are added. */
  readonly #factors: readonly Var<"f32">[];

  constructor(
    scope: Scope,
    call: AttentionCall,
    form: { readonly params: AttentionParams; readonly sizes: AttentionSizes; readonly block: QueryBlock },
    stages: SwizzledStages,
  ) {
    const { k } = scope;
    const { sizes, params, block } = form;
    this.#scope = scope;
    this.#form = form;
    this.#stages = stages;
    this.#hasSinks = call.inputs[6] !== undefined;
    const lane = k.and(k.thread(), lanes - 1);
    this.#part = k.and(lane, 3);
    const first = k.mad(k.shiftRight(k.thread(), 5), tileRows, k.shiftRight(lane, 2));
    this.#rows = [0, tileRows / 2].map((offset) => queryRow(scope, call, { params, sizes }, block, k.add(first, offset)));
    const { fragments, inverses } = loadQueries(scope, sizes, this.#rows, naturalPieces(sizes.keyWidth), this.#part);
    this.#query = fragments;
    const rows = this.#rows.map((row, i) => ({ ...row, inverse: elementAt(inverses, i) }));
    this.#softmaxes = new RowSoftmaxes(scope, { params, sizes }, this.#part, rows);
    this.#scores = k.warpgroupSums(SwizzledStages.positions);
    this.#outputs = k.warpgroupSums(sizes.valueWidth);
    this.#weights = Array.from({ length: SwizzledStages.positions / 4 }, () => k.variable("u32", 0));
    this.#factors = [0, 1].map(() => k.variable("f32", 1));
  }

  run(): void {
    const { k } = this.#scope;
    const stages = this.#stages;
    const { count, first } = stages.range;
    k.if(k.compare("gt", count, 0), () => {
      const stored = stages.stored(first);
      this.#multiplyKeys();
      k.waitProducts(0);
      // There are no outputs yet.
      this.#weigh(first, stored, () => this.#resetFactors());
      k.for(1, count, 1, (tile) => {
        const position = k.mad(tile, SwizzledStages.positions, first);
        const stored = stages.stored(position);
        this.#multiplyKeys();
        this.#addValues();
        k.waitProducts(1);
        this.#weigh(position, stored, () => {
          k.waitProducts(0);
          stages.release("values");
          this.#scaleOutputs();
        });
      });
      this.#addValues();
      k.waitProducts(0);
      stages.release("values");
    });
    for (const r of [0, 1]) this.#store(r);
  }

  /** Starts the products with the next keys. */
  #multiplyKeys(): void {
    const { k } = this.#scope;
    this.#stages.wait("keys");
    k.fenceProducts();
    const [never, always] = [k.compare("ne", this.#part, this.#part), k.compare("eq", this.#part, this.#part)];
    for (const [step, query] of this.#query.entries()) {
      const keys = this.#stages.keys(step);
      k.multiplyWarpgroup("f16", this.#scores, query, keys, { adds: step === 0 ? never : always });
    }
    k.commitProducts();
  }

  /** Starts to add the values that were weighed. */
  #addValues(): void {
    const { k } = this.#scope;
    const words = this.#weights.map((word) => word.get());
    this.#stages.wait("values");
    k.fenceProducts();
    const always = k.compare("eq", this.#part, this.#part);
    for (let step = 0; step < words.length / 4; step++) {
      const weights = words.slice(4 * step, 4 * step + 4) as [U32, U32, U32, U32];
      k.multiplyWarpgroup("f16", this.#outputs, weights, this.#stages.values(step), { adds: always, isTransposed: true });
    }
    k.commitProducts();
  }

  /** Turns the scores of positions from `first` on into weights, and releases their keys. `free` ends the use of the weights before. */
  #weigh(first: U32, stored: ReturnType<SwizzledStages["stored"]>, free: () => void): void {
    const { k } = this.#scope;
    const blocks = SwizzledStages.positions / 8;
    const products = Array.from({ length: blocks }, (_, i): SumFragment => {
      const at = (element: number): F32 => this.#scores.get(4 * i + element);
      return [at(0), at(1), at(2), at(3)];
    });
    this.#stages.release("keys");
    const [firstRow, secondRow] = [elementAt(this.#rows, 0), elementAt(this.#rows, 1)];
    const last = k.add(first, SwizzledStages.positions);
    const sees = ({ low, high }: TileRow): Bool => k.both(k.compare("ge", first, low), k.compare("le", last, high));
    const isWhole = k.not(k.anyLane(k.not(k.both(stored.all, k.both(sees(firstRow), sees(secondRow))))));
    const weights = this.#softmaxes.weigh(products, { first, isWhole, isStored: stored.column }, (r, factor) => {
      elementAt(this.#factors, r).set(factor);
    });
    free();
    for (const [i, word] of leftFragments(k, weights).flat().entries()) elementAt(this.#weights, i).set(word);
  }

  /** Multiplies the outputs of rows whose maximum has risen. */
  #scaleOutputs(): void {
    const { k } = this.#scope;
    const factors = this.#factors.map((factor) => factor.get());
    const isOne = factors.map((factor) => k.compare("eq", factor, 1)).reduce((a, b) => k.both(a, b));
    k.if(k.anyLane(k.not(isOne)), () => {
      for (let i = 0; i < this.#outputs.registers.length; i++)
        this.#outputs.set(i, k.mul(this.#outputs.get(i), elementAt(factors, (i >> 1) & 1)));
    });
    this.#resetFactors();
  }

  #resetFactors(): void {
    for (const factor of this.#factors) factor.set(1);
  }

  /** Stores row `r` of the lane: zeros if no position was seen. */
  #store(r: number): void {
    const { k } = this.#scope;
    const { heads, valueWidth } = this.#form.sizes;
    const row = elementAt(this.#rows, r);
    const share = outputShare(this.#scope, this.#hasSinks, row.head, this.#softmaxes.finish(r));
    k.if(row.exists, () => {
      const start = k.mad(k.mad(row.token, heads, row.head), valueWidth, k.mul(this.#part, 2));
      const to = k.at("f32", k.pointer("y", "f32"), start);
      for (let block = 0; block < valueWidth / 8; block++) {
        const values = [0, 1].map((i) => k.mul(this.#outputs.get(4 * block + 2 * r + i), share));
        k.stVector("f32", to, values, 8 * block);
      }
    });
  }
}

/** Pieces of a query in the order of the keys in shared memory: two elements each, of two matrix products in turn. */
function naturalPieces(width: number): readonly Piece[] {
  return Array.from({ length: width / 8 }, (_, i) => ({ first: 8 * i, stride: 2, count: 2 }));
}
