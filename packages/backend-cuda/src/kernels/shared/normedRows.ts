import {
  type AnchoredCall,
  asValue,
  type Extent,
  type F32,
  offset,
  product,
  type Siblings,
  stagedNormArgs,
  stageNorm,
  type U32,
} from "@centella/gpu-kernels";
import { lanes } from "./gpu.ts";
import { argumentsOf, bucketElements, defaultThreads, fixed, type KernelCall } from "./kernel.ts";
import type { RowSource } from "./siblingProducts.ts";

/** Most rows of `a` for which columns are computed for all rows at once; beyond, both operands are read in tiles. */
export const maxVectorRows = 8;

/** Most elements that a block norms: 32 KiB of shared memory. */
const maxStagedElements = 2 ** 13;

/** Blocks that keep a device busy. With more columns than these have warps, warps take several in turn and the norm is computed less often. */
const enoughBlocks = 512;
const maxTurns = 8;

/** Threads of the norm's own kernel: the sum of squares has the same order here. */
const threads = defaultThreads;

/** Whether products norm this number of rows themselves. */
export function isStaged({ a, lefts }: Siblings, rows: number): boolean {
  return rows <= maxVectorRows && rows * fixed(a.shape.at(-1)) <= maxStagedElements && lefts.length === 1;
}

/** Norms rows in each block's shared memory, where products read them. The first block stores the norm's extra output. */
export function normedRows(call: KernelCall, norm: AnchoredCall, { a, lefts: [rounding], results }: Siblings): RowSource {
  const depth = fixed(a.shape.at(-1));
  const lead = a.shape.slice(0, -1);
  const warps = threads / lanes;
  const columns = results.reduce((sum, { shape }) => sum + fixed(shape.at(-1)), 0);
  return {
    entry: "matmulNormed",
    args: argumentsOf(call, stagedNormArgs(norm)),
    warps,
    turns: Math.max(1, Math.min(maxTurns, Math.floor(columns / (warps * enoughBlocks)))),
    open(scope) {
      const { k } = scope;
      // Shared memory leaves room for few blocks: without this, ptxas keeps registers for more of them and spills on sm_80.
      k.blocksPerMultiprocessor = 2;
      const most = bucketElements(call, lead);
      const memory = k.sharedMemory("f32", most * depth);
      const set = (index: U32, value: F32): void => k.st("f32", k.sharedAt("f32", memory, index), value);
      stageNorm(scope, norm, {
        rows: product(k, scope.extents(lead)),
        most,
        rounding,
        staged: {
          get: (index) => k.ld("f32", k.sharedAt("f32", memory, index)),
          set,
          width: 1,
          store: (index, [value]) => value !== undefined && set(index, value),
        },
        isKeeper: k.compare("eq", k.block(), 0),
      });
      const at = (row: Extent, p: Extent) => k.sharedAt("f32", memory, asValue(k, offset(k, [row, p], [depth, 1])));
      return () => ({
        loadA: (row, p) => k.ld("f32", at(row, p)),
        loadVectorA: (row, p) => k.ldVector("f32", at(row, p)),
      });
    },
  };
}
