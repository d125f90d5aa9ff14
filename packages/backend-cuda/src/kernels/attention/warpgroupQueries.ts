import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { SumFragment } from "../../ptx/matrix.ts";
import type { WarpgroupSums } from "../../ptx/warpgroup.ts";
import type { Var } from "../../ptx/writer.ts";
import { lanes, warpgroupLanes, warpgroupWarps } from "../shared/gpu.ts";
import { bucketElements, bucketShape, fixed, type Launch, launch, type Scope, waitForEarlier } from "../shared/kernel.ts";
import { OutputRows } from "./outputRows.ts";
import {
  type AttentionCall,
  type AttentionParams,
  type AttentionSizes,
  attentionArgs,
  attentionInputs,
  looksAhead,
  tileRows,
} from "./problem.ts";
import { leftFragments } from "./queries.ts";
import { outputShare, type QueryBlock, rowPlace } from "./queryBlock.ts";
import { QueryStages } from "./queryStages.ts";
import { type QueryTiles, sequenceTiles, sharedTiles } from "./queryTiles.ts";
import { RowSoftmaxes } from "./softmax.ts";
import { boxMaps, SwizzledStages } from "./swizzledStages.ts";
import { stagePositions, type WarpgroupShape, warpgroupShape } from "./warpgroupShape.ts";

interface Form {
  readonly params: AttentionParams;
  readonly sizes: AttentionSizes;
  readonly shape: WarpgroupShape;
  /** Whether the text waits for earlier launches once it has looked at positions and lengths. */
  readonly isAhead: boolean;
}

/**
 * For many tokens of a sequence, with the products of warpgroups. A tile is some tokens of one sequence, and the heads that read the same head of
 * the cache. The tiles of a single sequence are shared by as many blocks as there are multiprocessors; otherwise a block takes those of its tokens.
 *
 * Warpgroups multiply 64 rows of queries each. A further one prepares what they read: its first warp copies keys and values, the others write
 * queries of the next tile.
 */
export function warpgroupQueries(call: AttentionCall, params: AttentionParams, sizes: AttentionSizes): Launch {
  const { q, cache, seqLens } = attentionInputs(call);
  const shape = warpgroupShape(sizes, params);
  const [sequences] = bucketShape(call, seqLens.shape) as [number];
  const blockTokens = Math.floor(shape.rows / sizes.blockHeads);
  const tokenBlocks = Math.ceil(bucketElements(call, q.shape.slice(0, 1)) / blockTokens);
  const tiles = tokenBlocks * sizes.kvHeads * sizes.headBlocks;
  const isShared = sequences <= 1;
  const shares = Math.min(sequences, blockTokens);
  const blocks = isShared ? Math.min(call.gpu.multiprocessors, tiles) : tiles * shares;
  const [slots, kvHeads, width] = cache.shape.map(fixed) as [number, number, number];
  const matrix = { of: "cache", columns: kvHeads * width, rows: slots };
  const isAhead = isShared && looksAhead(call);
  const options = {
    threads: shape.threads,
    blocks,
    waitsInBody: isAhead,
    args: attentionArgs(call),
    form: [sizes, shape, isShared],
    maps: { [boxMaps.many]: { ...matrix, boxRows: shape.boxRows }, [boxMaps.one]: { ...matrix, boxRows: 1 } },
  };
  return launch(call, `attentionMany_${cache.dtype}`, options, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const form = { params, sizes, shape, isAhead };
    const tilesOf = isShared ? sharedTiles : sequenceTiles;
    runTiles(scope, call, form, tilesOf(scope, call, sizes, blockTokens));
  });
}

function runTiles(scope: Scope, call: AttentionCall, form: Form, tiles: QueryTiles): void {
  const { k } = scope;
  const { consumers, prepareRegisters, productRegisters } = form.shape;
  const queries = new QueryStages(scope, call, form, tiles);
  const stages = new SwizzledStages(scope, call, form);
  const writers = warpgroupWarps - 1;
  k.if(k.compare("eq", k.thread(), 0), () => {
    queries.initBarriers(writers);
    stages.initBarriers();
    k.fenceBarriers();
  });
  k.sync();
  const wait = (): void => {
    if (form.isAhead) waitForEarlier(scope, call);
  };
  const warpgroup = k.ofFirstLane(k.quotient(k.thread(), warpgroupLanes));
  const run = (): void =>
    k.if(
      k.compare("eq", warpgroup, consumers),
      () => {
        const warp = k.ofFirstLane(k.and(k.shiftRight(k.thread(), 5), warpgroupWarps - 1));
        k.if(k.compare("eq", warp, 1), () => queries.describeFirst());
        if (form.isAhead) {
          const turn = k.constant("u32", 0);
          k.if(k.compare("eq", warp, 0), () => stages.prefetchFirst(tiles.at(turn), queries.range(turn)));
        }
        wait();
        k.setRegisters("decrease", prepareRegisters);
        k.if(
          k.compare("eq", warp, 0),
          () => k.for(0, tiles.count, 1, (turn) => stages.copy(tiles.at(turn), queries.range(turn))),
          () => queries.write(k.sub(warp, 1), writers),
        );
      },
      () => {
        if (form.isAhead) queries.prefetchFirst();
        wait();
        queries.writeFirst(warpgroup);
        k.setRegisters("increase", productRegisters);
        new Consumer(scope, call, form, { tiles, queries, stages, warpgroup }).run();
      },
    );
  k.ifUniform(k.compare("gt", tiles.count, 0), run, wait);
}

/** See {@link RowSoftmaxes}: threads that multiply heads of 128, with a window and a soft cap, have no registers for the positions that their rows see. */
function rangeThreads({ params: { window, softcap }, sizes: { keyWidth, valueWidth }, shape }: Form): number {
  const isTight = window !== 0 && softcap !== 0 && keyWidth + valueWidth === 256;
  return isTight ? shape.consumers * warpgroupLanes : 0;
}

interface ConsumerSource {
  readonly tiles: QueryTiles;
  readonly queries: QueryStages;
  readonly stages: SwizzledStages;
  readonly warpgroup: U32;
}

/**
 * A warpgroup that multiplies. It starts the products of the next keys before it adds the values that it has weighed, so its tensor cores work while
 * it computes weights. At the end of a tile, the next keys are those of the next tile.
 */
class Consumer {
  readonly #scope: Scope;
  readonly #form: Form;
  readonly #hasSinks: boolean;
  readonly #source: ConsumerSource;
  readonly #part: U32;
  /** The lane's rows among those of the block. */
  readonly #rows: readonly U32[];
  readonly #softmaxes: RowSoftmaxes;
  readonly #scores: WarpgroupSums;
  readonly #outputs: WarpgroupSums;
  readonly #outputRows: OutputRows;
  /** The weights of the stage whose values are not added yet, as left matrices. */
  readonly #weights: readonly Var<"u32">[];
  /** Whether the outputs have to be multiplied before the next values are added, and by what, for each row. */
  readonly #isRaised: Var<"bool">;
  readonly #factors: readonly Var<"f32">[];
  /** Whether there are outputs of the tile to which the next values are added. */
  readonly #hasOutputs: Var<"bool">;
  readonly #turn: Var<"u32">;
  /** The turn after that of a tile that has ended and whose outputs are still in registers, or 0; and by what its rows are multiplied. */
  readonly #unstored: Var<"u32">;
  readonly #shares: readonly Var<"f32">[];
  /** First position of the next stage of the tile, and the number of stages that are left. */
  readonly #position: Var<"u32">;
  readonly #left: Var<"u32">;
  /** The positions that all rows of the tile see. */
  readonly #seenByAll: { readonly low: Var<"u32">; readonly high: Var<"u32"> };
  /** The boxes of the keys under way that are seen, but not in the cache. */
  readonly #lost: Var<"u32">;

  constructor(scope: Scope, call: AttentionCall, form: Form, source: ConsumerSource) {
    const { k } = scope;
    const { sizes } = form;
    this.#scope = scope;
    this.#form = form;
    this.#source = source;
    this.#hasSinks = attentionInputs(call).sinks !== undefined;
    const lane = k.and(k.thread(), lanes - 1);
    this.#part = k.and(lane, 3);
    const first = k.mad(k.shiftRight(k.thread(), 5), tileRows, k.shiftRight(lane, 2));
    this.#rows = [0, tileRows / 2].map((offset) => k.add(first, offset));
    this.#softmaxes = new RowSoftmaxes(scope, form, this.#part, { rangeThreads: rangeThreads(form) });
    this.#scores = k.warpgroupSums(stagePositions);
    this.#outputs = k.warpgroupSums(sizes.valueWidth);
    this.#outputRows = new OutputRows(scope, sizes, form.shape.consumers * warpgroupWarps);
    this.#weights = Array.from({ length: stagePositions / 4 }, () => k.variable("u32", 0));
    this.#factors = [0, 1].map(() => k.variable("f32", 1));
    [this.#isRaised, this.#hasOutputs] = [k.variable("bool", 0), k.variable("bool", 0)];
    this.#turn = k.variable("u32", 0);
    [this.#position, this.#left] = [k.variable("u32", 0), k.variable("u32", 0)];
    this.#unstored = k.variable("u32", 0);
    this.#shares = [0, 1].map(() => k.variable("f32", 0));
    this.#seenByAll = { low: k.variable("u32", 0), high: k.variable("u32", 0) };
    this.#lost = k.variable("u32", 0);
  }

  run(): void {
    const { k } = this.#scope;
    this.#startTile();
    this.#multiplyKeys();
    k.waitProducts(0);
    this.#startSoftmaxes();
    this.#weigh(() => this.#isRaised.set(0));
    k.while(
      () => this.#goesOn(),
      () => this.#step(),
    );
    this.#storeEnded();
    this.#addValues();
    k.waitProducts(0);
    this.#source.stages.release("values");
    const block = this.#block(this.#turn.get());
    this.#outputRows.store(block, this.#outputs, this.#finish(block));
  }

  /** Whether there are more positions of the present tile, or another tile. */
  #goesOn(): Bool {
    const { k } = this.#scope;
    return k.either(k.compare("gt", this.#left.get(), 0), k.compare("lt", k.add(this.#turn.get(), 1), this.#source.tiles.count));
  }

  /** Adds the values that were weighed, and weighs the next positions. */
  #step(): void {
    const { k } = this.#scope;
    const isNew = k.compare("eq", this.#left.get(), 0);
    k.if(isNew, () => {
      this.#turn.set(k.add(this.#turn.get(), 1));
      this.#source.queries.waitQueries(this.#turn.get());
      this.#startTile();
    });
    this.#multiplyKeys();
    this.#storeEnded();
    this.#addValues();
    k.waitProducts(1);
    k.if(isNew, () => {
      const shares = this.#finish(this.#block(k.sub(this.#turn.get(), 1)));
      for (const [r, share] of shares.entries()) elementAt(this.#shares, r).set(share);
      this.#startSoftmaxes();
    });
    this.#weigh(() => {
      k.waitProducts(0);
      this.#source.stages.release("values");
    });
    k.if(
      isNew,
      () => this.#unstored.set(this.#turn.get()),
      () => this.#scaleOutputs(),
    );
    this.#isRaised.set(0);
  }

  /** Stores the tile that has ended, if its outputs are still in registers. The products with the next keys but one are under way meanwhile. */
  #storeEnded(): void {
    const { k } = this.#scope;
    const next = this.#unstored.get();
    k.if(k.compare("ne", next, 0), () => {
      const shares = this.#shares.map((share) => share.get());
      this.#outputRows.store(this.#block(k.sub(next, 1)), this.#outputs, shares);
      this.#unstored.set(0);
      this.#hasOutputs.set(0);
    });
  }

  /** Waits for what is known of a tile before its keys. */
  #startTile(): void {
    const { first, count } = this.#source.queries.range(this.#turn.get());
    this.#position.set(first);
    this.#left.set(count);
    const { low, high } = this.#source.queries.seenByAll(this.#turn.get());
    this.#seenByAll.low.set(low);
    this.#seenByAll.high.set(high);
  }

  /** Starts the softmaxes of the present tile. */
  #startSoftmaxes(): void {
    const { k } = this.#scope;
    const { queries } = this.#source;
    const { params, sizes } = this.#form;
    const turn = this.#turn.get();
    const block = this.#block(turn);
    this.#softmaxes.start(
      this.#rows.map((row) => {
        const { token, head } = rowPlace(this.#scope, sizes, block, row);
        const position = params.alibi === 0 ? k.constant("i32", 0) : k.loadInteger("positions", token);
        return { ...queries.row(turn, row, k.sub(token, block.tokens.first)), head, position };
      }),
    );
  }

  /** Ends the softmaxes of a tile: by what the sums of the lane's rows are multiplied. */
  #finish(block: QueryBlock): readonly F32[] {
    return this.#rows.map((row, r) => {
      const { head } = rowPlace(this.#scope, this.#form.sizes, block, row);
      return outputShare(this.#scope, this.#hasSinks, head, this.#softmaxes.finish(r));
    });
  }

  #block(turn: U32): QueryBlock {
    return this.#source.tiles.at(turn);
  }

  /** Starts the products with the next keys. */
  #multiplyKeys(): void {
    const { k } = this.#scope;
    const { queries, stages, warpgroup } = this.#source;
    stages.wait("keys");
    // Read here, it is there when the products are.
    this.#lost.set(stages.lost());
    k.fenceProducts();
    const [never, always] = [k.compare("ne", this.#part, this.#part), k.compare("eq", this.#part, this.#part)];
    const turn = this.#turn.get();
    for (let step = 0; step < this.#form.sizes.keyWidth / 16; step++) {
      const adds = step === 0 ? never : always;
      k.multiplyWarpgroup("f16", this.#scores, queries.matrix(turn, warpgroup, step), stages.keys(step), { adds });
    }
    k.commitProducts();
  }

  /** Starts to add the values that were weighed. */
  #addValues(): void {
    const { k } = this.#scope;
    const { stages } = this.#source;
    const words = this.#weights.map((word) => word.get());
    stages.wait("values");
    k.fenceProducts();
    const [hasOutputs, always] = [this.#hasOutputs.get(), k.compare("eq", this.#part, this.#part)];
    for (let step = 0; step < words.length / 4; step++) {
      const weights = words.slice(4 * step, 4 * step + 4) as [U32, U32, U32, U32];
      k.multiplyWarpgroup("f16", this.#outputs, weights, stages.values(step), {
        adds: step === 0 ? hasOutputs : always,
        isTransposed: true,
      });
    }
    k.commitProducts();
    this.#hasOutputs.set(1);
  }

  /** Turns the scores of the next positions into weights, and releases their keys. `free` ends the use of the weights before. */
  #weigh(free: () => void): void {
    const { k } = this.#scope;
    const { stages, queries } = this.#source;
    const blocks = stagePositions / 8;
    const products = Array.from({ length: blocks }, (_, i): SumFragment => {
      const at = (element: number): F32 => this.#scores.get(4 * i + element);
      return [at(0), at(1), at(2), at(3)];
    });
    const lost = this.#lost.get();
    const first = this.#position.get();
    const last = k.add(first, stagePositions);
    const isWhole = k.both(k.compare("eq", lost, 0), this.#seesAll(first, last));
    stages.release("keys");
    this.#position.set(last);
    this.#left.set(k.sub(this.#left.get(), 1));
    k.if(k.compare("eq", this.#left.get(), 0), () => queries.release(this.#turn.get()));
    const weights = this.#softmaxes.weigh(
      products,
      { first, isWhole, isStored: (column) => stages.isStored(lost, column) },
      (r, factor) => {
        elementAt(this.#factors, r).set(factor);
        this.#isRaised.set(1);
      },
    );
    free();
    for (const [i, word] of leftFragments(k, weights).flat().entries()) elementAt(this.#weights, i).set(word);
  }

  /** Whether all rows of the present tile see all positions from `first` to before `last`. */
  #seesAll(first: U32, last: U32): Bool {
    const { k } = this.#scope;
    const isBefore = k.compare("le", last, this.#seenByAll.high.get());
    return this.#form.params.window === 0 ? isBefore : k.both(isBefore, k.compare("ge", first, this.#seenByAll.low.get()));
  }

  /** Multiplies the outputs if maxima have risen. */
  #scaleOutputs(): void {
    const { k } = this.#scope;
    k.if(this.#isRaised.get(), () => {
      const factors = this.#factors.map((factor) => factor.get());
      for (let i = 0; i < this.#outputs.registers.length; i++)
        this.#outputs.set(i, k.mul(this.#outputs.get(i), elementAt(factors, (i >> 1) & 1)));
    });
  }
}
