import { elementAt } from "@centella/core/backend";
import {
  asValue,
  type Extent,
  isBelow,
  offset,
  product,
  type SiblingProduct,
  type SiblingResult,
  timesPlus,
  type U32,
} from "@centella/gpu-kernels";
import { warpSum } from "../../ptx/reduce.ts";
import { type Argument, bucketElements, epilogueArgs, fixed, type KernelCall, type Launch, launch, type Scope } from "./kernel.ts";
import { addProducts, lanes, vectorWarps } from "./product.ts";

/** The form of the tensor `[..., k]` that a product multiplies: as it is, or rounded. */
type LeftOf = (product: SiblingProduct) => Argument;

/**
 * All results of products of one tensor in one launch, for few rows: each warp computes one column of one result for all rows. Blocks
 * of the results follow each other.
 */
export function siblingProducts(call: KernelCall, k: number, results: readonly SiblingResult[], left: LeftOf): Launch {
  const columnsOf = ({ shape }: SiblingResult): number => fixed(shape.at(-1));
  const blocksOf = (result: SiblingResult): number => Math.ceil(columnsOf(result) / vectorWarps);
  const args = Object.fromEntries(
    results.flatMap(({ products, y, epilogue }, i) => [
      ...products.flatMap((product, j) => [
        [`a${i}_${j}`, left(product)] as const,
        [`b${i}_${j}`, { kind: "input", index: product.input, dtype: product.weight.dtype }] as const,
      ]),
      [`y${i}`, y] as const,
      ...Object.entries(epilogueArgs(call, epilogue)),
    ]),
  );
  const blocks = results.reduce((sum, result) => sum + blocksOf(result), 0);
  return launch(call, "matmulSiblings", { threads: vectorWarps * lanes, blocks, args }, (scope) => {
    const block = scope.k.block();
    let first = 0;
    for (const [i, result] of results.entries()) {
      const end = first + blocksOf(result);
      const isOwn = scope.k.and(isBelow(scope.k, block, end), scope.k.compare("ge", block, first));
      const from = first;
      scope.k.ifUniform(isOwn, () => columns(scope, call, k, i, result, scope.k.sub(block, from)));
      first = end;
    }
  });
}

/** The columns of one block of a result. */
function columns(
  scope: Scope,
  call: KernelCall,
  depth: number,
  number: number,
  { products, shape, epilogue }: SiblingResult,
  block: U32,
): void {
  const { k } = scope;
  const rows = bucketElements(call, shape.slice(0, -1));
  const n = fixed(shape.at(-1));
  const m = product(k, scope.extents(shape.slice(0, -1)));
  const thread = k.thread();
  const lane = k.and(thread, lanes - 1);
  const column = asValue(k, timesPlus(k, block, vectorWarps, k.shiftRight(thread, 5)));
  k.if(isBelow(k, column, n), () => {
    const totals = products.map((_, j) => {
      const [a, b] = [`a${number}_${j}`, `b${number}_${j}`];
      const at = (row: Extent, p: Extent): Extent => offset(k, [row, p], [depth, 1]);
      const sums = Array.from({ length: rows }, () => k.variable("f32", 0));
      const matrices = {
        m,
        depth,
        loadA: (row: Extent, p: Extent) => k.load(a, at(row, p)),
        loadB: (p: Extent, j: Extent) => k.load(b, at(j, p)),
        loadVectorA: (row: Extent, p: Extent) => k.loadVector(a, at(row, p)),
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
