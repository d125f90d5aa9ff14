import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, tupleOf } from "@centella/core/backend";
import { isBelow, product as productOf, type SiblingProduct, type U32 } from "@centella/gpu-kernels";
import { unitMatrix, unitRows } from "../../weights/unitFormat.ts";
import { bucketElements, fixed, input, type KernelCall, type Launch, launch, output, type Scope } from "../shared/kernel.ts";
import { allocateStaging } from "./activations.ts";
import { earlySlots, overHalfOfShared, placeOfThread, type Shape, shapeOf, threads } from "./fewRows.ts";
import { ringOf } from "./ring.ts";
import { partialBytes, Rounds, warps } from "./rounds.ts";
import { stageRow, storedPieces } from "./rowStaging.ts";
import { type ItemRange, itemsOf, UnitCursor, type UnitResult, weightName } from "./segments.ts";

/**
 * The launch of products with experts in units: each row of activations is multiplied with the matrix of one expert, by blocks of its own.
 * Undefined if the experts have another form, or if operands must not be rounded to halves.
 */
export function expertLaunches(call: KernelCall, { activations }: ParamsOf<"moeMatmul">): readonly Launch[] | undefined {
  const [, experts, ids] = tupleOf(call.inputs as readonly TensorSpec[], 3);
  const rows = bucketElements(call, ids.shape);
  const result = expertResult(call, experts);
  if (result === undefined || activations !== "half" || rows === 0) return undefined;
  const multiprocessors = Math.max(1, Math.floor(call.gpu.multiprocessors / rows));
  const shape = shapeOf({ ...call.gpu, multiprocessors }, fixed(experts.shape.at(-1)), { rows: 1, columns: 1 }, [result]);
  return shape && [expertRows(call, shape, rows)];
}

/** The products with one expert, if its matrix is whole row tiles. */
export function expertResult(call: KernelCall, { dtype, shape }: TensorSpec): UnitResult | undefined {
  const [n, depth] = [fixed(shape.at(-2)), fixed(shape.at(-1))];
  const units = call.unitsOf(1) && unitMatrix(dtype, [n, depth]);
  if (units === undefined || n % unitRows !== 0) return undefined;
  const params = { transposeA: false, transposeB: true, activations: "half" } as const;
  const product: SiblingProduct = { left: 0, input: 1, weight: { dtype, shape: [n, depth] }, params, output: call.output };
  const epilogue: UnitResult["result"]["epilogue"] = { args: {}, apply: (_scope, _index, results) => elementAt(results, 0) };
  const result = { epilogue, products: [product], y: { kind: "output" }, shape: call.output.shape } as const;
  return { result, products: [{ product, units }] };
}

function expertRows(call: KernelCall, shape: Shape, rows: number): Launch {
  const { work, staging, depth, slotBytes } = shape;
  const [x, experts, ids] = tupleOf(call.inputs as readonly TensorSpec[], 3);
  const args = { a: input(0), ids: input(2), [weightName(0, 0)]: { ...input(1), dtype: experts.dtype }, y0: output };
  const options = { threads, blocks: work.blocks * rows, args, form: [shape, work, staging] };
  return launch(call, `moeMatmulFew_${experts.dtype}`, options, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const row = k.quotient(k.block(), work.blocks);
    const items = itemsOf(k, work, k.remainder(k.block(), work.blocks));
    const multiply = (expert: U32): void => {
      const { place, warp } = placeOfThread(k, work);
      const firstCopy = k.mul(expert, work.items * work.copies);
      const cursor = new UnitCursor(k, work, { items, warp, warps, firstCopy });
      const ring = ringOf(k, call.gpu, cursor, { depth, early: earlySlots(call.gpu, shape), slotBytes, warp, warps });
      const staged = allocateStaging(k, staging);
      const partials = k.sharedMemory("f32", (work.roundItems * work.products * partialBytes(1)) / 4);
      const rounds = new Rounds(scope, { work, staging }, { lane: place, warp, items, firstRow: row, ring, staged, partials });
      const source = x.shape.length === 3 ? row : k.quotient(row, fixed(ids.shape[1]));
      stageRow(k, staging, storedPieces(k, "a", staging, source), { staged, meanwhile: () => ring.fill() });
      k.sync();
      k.reserveShared(overHalfOfShared(call.gpu));
      rounds.run();
    };
    k.ifUniform(isBelow(k, row, productOf(k, scope.extents(ids.shape))), () => {
      // As unsigned, a negative id is beyond the experts too. Such products are 0.
      const expert = k.bitcast("u32", k.loadInteger("ids", row));
      const isExpert = k.compare("lt", expert, fixed(experts.shape[0]));
      k.ifUniform(
        isExpert,
        () => multiply(expert),
        () => storeZeros(scope, items, k.mul(row, work.items * unitRows)),
      );
    });
  });
}

/** Sets the results of a block's items to 0. */
function storeZeros({ k }: Scope, { first, end }: ItemRange, from: U32): void {
  const zero = k.constant("f32", 0);
  const start = k.add(k.mul(first, unitRows), k.thread());
  k.for(start, k.mul(end, unitRows), threads, (n) => k.store("y0", k.add(from, n), zero));
}
