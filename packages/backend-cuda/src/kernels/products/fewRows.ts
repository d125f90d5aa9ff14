import { elementAt } from "@centella/core/backend";
import {
  type AnchoredCall,
  asValue,
  isBelow,
  product as productOf,
  type SiblingResult,
  stagedNormArgs,
  type U32,
} from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { type UnitFormat, unitRows } from "../../weights/unitFormat.ts";
import {
  type Argument,
  argumentsOf,
  bucketElements,
  epilogueArgs,
  fixed,
  input,
  type KernelCall,
  type Launch,
  launch,
  type Parameter,
  type Scope,
  waitForEarlier,
} from "../shared/kernel.ts";
import { lanes } from "../shared/product.ts";
import {
  allocateStaging,
  normedRow,
  type StagedActivations,
  type StagingPlan,
  stageActivations,
  stagedBytes,
  storedRow,
} from "./activations.ts";
import { UnitRing } from "./ring.ts";
import { inResultOf, UnitCursor, type UnitResult, type Work, weightName, workOf } from "./segments.ts";
import { halfType, sumsOf, Tile, tileColumns } from "./tile.ts";
import { type Lane, loadUnit } from "./unitDecoder.ts";

const warps = 8;
const threads = warps * lanes;

/** Rows of activations that a block stages, from the most. More rows take more blocks, which read the weights again. */
const columnCounts = [16, 8, 4, 2];

/** Slots of a warp's ring. */
const maxDepth = 8;
const minDepth = 2;

/** Bytes for the partial sums of a round of items. */
const roundBytes = 16 * 1024;

/**
 * Most and least shared memory of a block. With the least, a second block does not fit: blocks that start while an earlier launch still has some
 * multiprocessors would otherwise share the others in pairs.
 */
const allOfShared = 224 * 1024;
const overHalfOfShared = 116 * 1024;

/** The sizes of a launch. */
interface Shape {
  /** Groups of rows, each with blocks of its own. */
  readonly rowGroups: number;
  readonly staging: StagingPlan;
  readonly work: Work;
  /** Slots of a warp's ring. */
  readonly depth: number;
  readonly slotBytes: number;
  /** Items whose partial sums wait in shared memory. */
  readonly roundItems: number;
}

/** Products of one tensor that a launch computes. */
export interface FewRowsProducts {
  /** Extent of the tensor's last axis. */
  readonly depth: number;
  readonly results: readonly SiblingResult[];
  /** Where the tensor is. Default: input 0 of the call. */
  readonly from?: Parameter;
  /** Computes the tensor where it is staged. Its extra output is stored by the first launch. */
  readonly norm?: AnchoredCall;
}

/**
 * Launches of products with weights in units, fast for few rows of activations; undefined if one of the products is of another kind, or if a norm
 * has more rows than a block stages.
 */
export function fewRowsLaunches(call: KernelCall, products: FewRowsProducts): readonly Launch[] | undefined {
  const { depth, results, norm } = products;
  const rows = bucketElements(call, elementAt(results, 0).shape.slice(0, -1));
  if (call.gpu.target === "sm_80" || rows === 0) return undefined;
  const found = results.map((result) => unitResult(call, result));
  const kinds = new Map<string, UnitResult[]>();
  for (const result of found) {
    if (result === undefined) return undefined;
    const { format } = elementAt(result.products, 0).units;
    const key = `${halfType(format)} ${format.width} ${result.products.length}`;
    kinds.set(key, [...(kinds.get(key) ?? []), result]);
  }
  const shapes = [...kinds.values()].map((each) => {
    const fitting = columnsOf(rows).map((columns) => shapeOf(call, depth, { rows, columns }, each));
    return fitting.find((shape) => shape !== undefined && (norm === undefined || shape.rowGroups === 1));
  });
  return shapes.every((shape) => shape !== undefined) ? shapes.map((shape, i) => fewRows(call, shape, products, i === 0)) : undefined;
}

/** Numbers of rows that a block may stage, from the most: 1, or even numbers because a lane has results of two neighbouring rows. */
function columnsOf(rows: number): readonly number[] {
  if (rows === 1) return [1];
  const even = 2 * Math.ceil(rows / 2);
  return [...new Set(columnCounts.map((count) => Math.min(count, even)))];
}

function unitResult(call: KernelCall, result: SiblingResult): UnitResult | undefined {
  const products = result.products.flatMap((product) => {
    const units = call.unitsOf(product.input);
    const isHalf = product.params.activations === "half" && product.weight.shape.length === 2;
    return units === undefined || !isHalf ? [] : [{ product, units }];
  });
  const [first] = products;
  if (first === undefined || products.length < result.products.length) return undefined;
  const isUniform = products.every(
    ({ units: { format, units, rows } }) =>
      halfType(format) === halfType(first.units.format) && units === first.units.units && rows === first.units.rows,
  );
  return isUniform ? { result, products } : undefined;
}

function shapeOf(
  call: KernelCall,
  depth: number,
  { rows, columns }: { readonly rows: number; readonly columns: number },
  results: readonly UnitResult[],
): Shape | undefined {
  const work = workOf(results, call.gpu.multiprocessors);
  const formats = formatsOf(work);
  const format = elementAt(formats, 0);
  const staging: StagingPlan = {
    type: halfType(format),
    depth,
    padded: work.units * format.width,
    columns,
    sums: sumsOf(formats),
  };
  const itemBytes = work.products * warps * unitRows * columns * 4;
  const perBlock = Math.ceil(work.items / work.blocks);
  const roundItems = Math.max(1, Math.min(perBlock, Math.floor(roundBytes / itemBytes)));
  const slotBytes = Math.max(...formats.map(({ bytes }) => bytes));
  const fixedBytes = stagedBytes(staging) + roundItems * itemBytes + 8 * warps * maxDepth + 1024;
  const perWarp = Math.ceil((perBlock * work.products * work.units) / warps);
  const slots = Math.min(maxDepth, perWarp, Math.floor((allOfShared - fixedBytes) / (warps * slotBytes)));
  if (slots < Math.min(minDepth, perWarp)) return undefined;
  return { rowGroups: Math.ceil(rows / columns), staging, work, depth: slots, slotBytes, roundItems };
}

function formatsOf({ results }: Work): readonly UnitFormat[] {
  return [...new Set(results.flatMap(({ products }) => products.map(({ units }) => units.format)))];
}

function fewRows(call: KernelCall, shape: Shape, { from = input(0), norm }: FewRowsProducts, isFirst: boolean): Launch {
  const { rowGroups, work, staging, depth, slotBytes, roundItems } = shape;
  const args = Object.fromEntries<Argument>([
    ...(norm === undefined ? [["a", from] as const] : Object.entries(argumentsOf(call, stagedNormArgs(norm)))),
    ...work.results.flatMap(({ result, products }, i) => [
      ...products.map(
        ({ product }, j) => [weightName(i, j), { kind: "input", index: product.input, dtype: product.weight.dtype }] as const,
      ),
      [`y${i}`, result.y] as const,
      ...Object.entries(epilogueArgs(call, result.epilogue)),
    ]),
  ]);
  const types = formatsOf(work).map(({ dtype }) => dtype);
  const entry = `matmulFew_${[...types, ...(norm === undefined ? [] : ["normed"])].join("_")}`;
  return launch(call, entry, { threads, blocks: work.blocks * rowGroups, args, waitsInBody: true }, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const { result } = elementAt(work.results, 0);
    const rows = productOf(k, scope.extents(result.shape.slice(0, -1)));
    const block = k.remainder(k.block(), work.blocks);
    const firstRow = k.mul(k.quotient(k.block(), work.blocks), staging.columns);
    const wait = (): void => waitForEarlier(scope, call);
    const multiply = (): void => {
      const thread = k.thread();
      const lane = k.and(thread, lanes - 1);
      const place: Lane = { lane, row: k.shiftRight(lane, 2), part: k.and(lane, 3) };
      const warp = k.shiftRight(thread, 5);
      const cursor = new UnitCursor(k, work, { block, warp, warps });
      const ring = new UnitRing(k, cursor, { depth, slotBytes, warp, warps });
      // Copies of weights are under way while earlier launches end.
      wait();
      const staged = allocateStaging(k, staging);
      const row = norm === undefined ? storedRow(k, "a", staging) : normedRow(scope, norm, staging, { rows, isFirst });
      stageActivations(k, staging, row, { first: firstRow, count: rows }, staged);
      k.sync();
      const partials = k.sharedMemory("f32", roundItems * work.products * warps * unitRows * staging.columns);
      k.reserveShared(overHalfOfShared);
      const kernel = new FewRowsKernel(scope, shape, { lane: place, warp, block, firstRow, ring, staged, partials });
      kernel.forEachRound((first, count) => {
        kernel.multiply(first, count);
        k.sync();
        kernel.finish(first, count);
        k.sync();
      });
    };
    k.ifUniform(isBelow(k, firstRow, rows), multiply, wait);
  });
}

/** What a block has set up before it multiplies. */
interface Parts {
  readonly lane: Lane;
  readonly warp: U32;
  /** Number of the block among those of its group of rows. */
  readonly block: U32;
  readonly firstRow: U32;
  readonly ring: UnitRing;
  readonly staged: StagedActivations;
  readonly partials: Shared<"f32">;
}

/** Sums of a lane: per tile of columns, the elements of a matrix product that it keeps. */
type Sums = readonly (readonly Var<"f32">[])[];

class FewRowsKernel {
  readonly #scope: Scope;
  readonly #shape: Shape;
  readonly #parts: Parts;
  /** The warp's next unit in the segment. */
  readonly #unit: Var<"u32">;
  readonly #tiles: readonly Tile[];

  constructor(scope: Scope, shape: Shape, parts: Parts) {
    const { k } = scope;
    this.#scope = scope;
    this.#shape = shape;
    this.#parts = parts;
    this.#unit = k.variable("u32", parts.warp);
    const { columns } = shape.staging;
    const count = Math.ceil(columns / tileColumns);
    this.#tiles = Array.from({ length: count }, (_, n) => new Tile(scope, shape.staging, parts, n));
  }

  /** Runs `body` with the first item of each round of the block, and the number of its items. */
  forEachRound(body: (first: U32, count: U32) => void): void {
    const { k } = this.#scope;
    const { work, roundItems } = this.#shape;
    k.forUniform(this.#parts.block, work.items, work.blocks * roundItems, (first) => {
      const left = k.quotient(k.add(k.sub(k.sub(k.constant("u32", work.items), first), 1), work.blocks), work.blocks);
      body(first, k.min(left, roundItems));
    });
  }

  /** Multiplies the units of a round's items, and leaves each warp's sums in shared memory. */
  multiply(first: U32, count: U32): void {
    const { k } = this.#scope;
    const { work } = this.#shape;
    const formats = formatsOf(work);
    k.for(0, count, 1, (slot) => {
      const item = k.mad(slot, work.blocks, first);
      for (let product = 0; product < work.products; product++) {
        if (formats.length === 1) {
          this.#segment(elementAt(formats, 0), slot, product);
          continue;
        }
        const number = k.variable("u32", 0);
        inResultOf(k, work, item, ({ products }) => number.set(formats.indexOf(elementAt(products, product).units.format)));
        const from = (index: number): void => {
          const run = (): void => this.#segment(elementAt(formats, index), slot, product);
          if (index === formats.length - 1) run();
          else k.if(k.compare("eq", number.get(), index), run, () => from(index + 1));
        };
        from(0);
      }
    });
  }

  /** Multiplies the warp's units of a segment. */
  #segment(format: UnitFormat, slot: U32, product: number): void {
    const { k } = this.#scope;
    const { units } = this.#shape.work;
    const { lane, ring } = this.#parts;
    const sums: Sums = this.#tiles.map((tile) => tile.kept.map(() => k.variable("f32", 0)));
    k.while(
      () => k.compare("lt", this.#unit.get(), units),
      () => {
        const unit = this.#unit.get();
        const loaded = ring.take((from) => loadUnit(k, format, from, lane));
        for (const [n, tile] of this.#tiles.entries()) tile.multiply(format, loaded, unit, elementAt(sums, n));
        this.#unit.set(k.add(unit, warps));
      },
    );
    this.#unit.set(k.sub(this.#unit.get(), units));
    const to = this.#partial(slot, product, this.#parts.warp);
    for (const [n, tile] of this.#tiles.entries()) tile.store(to, elementAt(sums, n));
  }

  /** Where a warp's sums of a product of the round's item `slot` are: 16 rows, column after column. */
  #partial(slot: U32, product: number, warp: U32 | number): Shared<"f32"> {
    const { k } = this.#scope;
    const { work, staging } = this.#shape;
    const number = k.add(k.mul(k.add(k.mul(slot, work.products), product), warps), warp as U32);
    return k.sharedAt("f32", this.#parts.partials, k.mul(number, unitRows * staging.columns));
  }

  /** Adds the warps' sums, and stores the results of a round's items through their epilogues. */
  finish(first: U32, count: U32): void {
    const { scope, work, columns } = { scope: this.#scope, work: this.#shape.work, columns: this.#shape.staging.columns };
    const { k } = scope;
    const { staged, firstRow } = this.#parts;
    const { factors } = staged;
    const perItem = unitRows * columns;
    k.for(k.thread(), k.mul(count, perItem), threads, (index) => {
      const slot = k.quotient(index, perItem);
      const within = k.remainder(index, perItem);
      const column = k.shiftRight(within, 4);
      const factor = factors === undefined ? undefined : k.ld("f32", k.sharedAt("f32", factors, column));
      const values = Array.from({ length: work.products }, (_, product) => {
        const from = k.sharedAt("f32", this.#partial(slot, product, 0), within);
        const partials = Array.from({ length: warps }, (_, warp) => k.ld("f32", from, warp * perItem));
        const sum = partials.reduce((a, b) => k.add(a, b));
        return factor === undefined ? sum : k.mul(sum, factor);
      });
      inResultOf(k, work, k.mad(slot, work.blocks, first), ({ result }, number, tile) => {
        const row = k.mad(tile, unitRows, k.and(within, unitRows - 1));
        const n = fixed(result.shape.at(-1));
        const rows = productOf(k, scope.extents(result.shape.slice(0, -1)));
        const outputRow = k.add(firstRow, column);
        k.if(k.and(isBelow(k, row, n), isBelow(k, outputRow, rows)), () => {
          const at = asValue(k, k.mad(outputRow, n, row));
          k.store(`y${number}`, at, result.epilogue.apply(scope, at, values));
        });
      });
    });
  }
}
