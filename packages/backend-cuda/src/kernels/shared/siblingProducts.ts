import { elementAt } from "@centella/core/backend";
import { type Extent, isBelow, offset, product, type SiblingProduct, type SiblingResult, type U32 } from "@centella/gpu-kernels";
import { warpSum } from "../../ptx/reduce.ts";
import { lanes } from "./gpu.ts";
import {
  type Argument,
  bucketElements,
  epilogueArgs,
  fixed,
  type KernelCall,
  type Launch,
  launch,
  type NamedArguments,
  type Scope,
} from "./kernel.ts";
import { addProducts, type Matrices, vectorWarps } from "./product.ts";

/** Reads the rows of the tensor `[..., k]` that a product multiplies. */
type RowLoads = Pick<Matrices, "loadA" | "loadVectorA">;

/** How the products of a launch read the tensor `[..., k]`, and how its columns are shared out. */
export interface RowSource {
  readonly entry: string;
  /** Memory that it uses. */
  readonly args: NamedArguments;
  /** Warps of a block. */
  readonly warps: number;
  /** Columns of a result that each warp computes, one after the other. */
  readonly turns: number;
  /** Runs at the beginning of each block, in all of its threads. */
  open(scope: Scope): (product: SiblingProduct) => RowLoads;
}

/** Reads rows that are stored: `lefts` has the tensor in each form that products multiply, unchanged or rounded. */
export function storedRows(depth: number, lefts: readonly Argument[]): RowSource {
  return {
    entry: "matmulSiblings",
    args: Object.fromEntries(lefts.map((left, i) => [`a${i}`, left])),
    warps: vectorWarps,
    turns: 1,
    open:
      ({ k }) =>
      ({ left }) => ({
        loadA: (row, p) => k.load(`a${left}`, offset(k, [row, p], [depth, 1])),
        loadVectorA: (row, p) => k.loadVector(`a${left}`, offset(k, [row, p], [depth, 1])),
      }),
  };
}

/**
 * All results of products of one tensor in one launch, for few rows: each warp computes a column of one result for all rows. Blocks
 * of the results follow each other.
 */
export function siblingProducts(call: KernelCall, depth: number, results: readonly SiblingResult[], source: RowSource): Launch {
  const { entry, warps, turns } = source;
  const blocksOf = ({ shape }: SiblingResult): number => Math.ceil(fixed(shape.at(-1)) / (warps * turns));
  const args = Object.fromEntries(
    results.flatMap(({ products, y, epilogue }, i) => [
      ...products.map(({ input, weight }, j) => [`b${i}_${j}`, { kind: "input", index: input, dtype: weight.dtype }] as const),
      [`y${i}`, y] as const,
      ...Object.entries(epilogueArgs(call, epilogue)),
    ]),
  );
  const blocks = results.reduce((sum, result) => sum + blocksOf(result), 0);
  return launch(call, entry, { threads: warps * lanes, blocks, args: { ...source.args, ...args } }, (scope) => {
    const { k } = scope;
    const rows = source.open(scope);
    const block = k.block();
    let first = 0;
    for (const [i, result] of results.entries()) {
      const end = first + blocksOf(result);
      const isOwn = k.and(isBelow(k, block, end), k.compare("ge", block, first));
      const from = first;
      k.ifUniform(isOwn, () => {
        const own = k.sub(block, from);
        const at = (part: U32): void => columns(scope, call, { depth, number: i, result, rows }, k.mad(part, warps, warp(k)));
        if (turns === 1) at(own);
        else k.forUniform(0, turns, 1, (turn) => at(k.mad(own, turns, turn)));
      });
      first = end;
    }
  });
}

function warp(k: Scope["k"]): U32 {
  return k.shiftRight(k.thread(), 5);
}

/** A result of a launch, with its number among the results. */
interface NumberedResult {
  readonly depth: number;
  readonly number: number;
  readonly result: SiblingResult;
  readonly rows: (product: SiblingProduct) => RowLoads;
}

/** A warp's column of a result. */
function columns(scope: Scope, call: KernelCall, { depth, number, result, rows: rowsOf }: NumberedResult, column: U32): void {
  const { k } = scope;
  const { products, shape, epilogue } = result;
  const rows = bucketElements(call, shape.slice(0, -1));
  const n = fixed(shape.at(-1));
  const m = product(k, scope.extents(shape.slice(0, -1)));
  const lane = k.and(k.thread(), lanes - 1);
  k.if(isBelow(k, column, n), () => {
    const totals = products.map((each, j) => {
      const b = `b${number}_${j}`;
      const at = (row: Extent, p: Extent): Extent => offset(k, [row, p], [depth, 1]);
      const sums = Array.from({ length: rows }, () => k.variable("f32", 0));
      const matrices = {
        m,
        depth,
        ...rowsOf(each),
        loadB: (p: Extent, j: Extent) => k.load(b, at(j, p)),
        loadVectorB: (p: Extent, j: Extent) => k.loadVector(b, at(j, p)),
      };
      k.if(isBelow(k, 0, m), () => addProducts(scope, { transposeA: false }, matrices, { lane, column, sums }));
      return sums.map((sum) => warpSum(k, sum.get()));
    });
    k.if(k.compare("eq", lane, 0), () => {
      for (let row = 0; row < rows; row++) {
        k.if(isBelow(k, row, m), () => {
          const index = k.add(column, row * n);
          const values = totals.map((sums) => elementAt(sums, row));
          k.store(`y${number}`, index, epilogue.apply(scope, index, values));
        });
      }
    });
  });
}
