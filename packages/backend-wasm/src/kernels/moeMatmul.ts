import { isQuantized, type Operand, tupleOf } from "@centella/core/backend";
import { formatNames } from "../formats/index.ts";
import type { Call, DeferredStages, Kernel, Run, Stage, Task } from "../kernel.ts";
import { emitIndexed, indexing } from "../matmul/indexed.ts";
import type { Path } from "../matmul/product.ts";
import type { Heap } from "../memory/heap.ts";
import { choosePath } from "./matmul.ts";
import { aligned } from "./shared/aligned.ts";

/**
 * Maximum number of products that are computed separately. Larger calls gather rows by expert, which reads each
 * expert's weights once.
 */
const maxIndexed = 16;

/** Rows that are copied between two checks of the clock. */
const rowsPerTurn = 64;

export const moeMatmul: Kernel<"moeMatmul"> = {
  emit: (module) =>
    emitIndexed(
      module,
      formatNames.map((name) => `groups1.${name}`),
    ),
  build(context, [x, experts, ids], { activations }, y) {
    const { max } = context;
    // Which products there are is known only once the experts are chosen.
    const path = choosePath({ ...context, onDemand: context.exports }, experts, { transposeA: false, transposeB: true, activations });
    const [most, chosen] = tupleOf(max(ids).shape, 2);
    const [count, n, k] = tupleOf(max(experts).shape, 3);
    const singleBytes = aligned(path.scratch(1, n, k));
    const [gatheredBytes, productBytes] = [aligned(4 * most * chosen * k), aligned(4 * most * chosen * n)];
    // Rows that are not interleaved yet are interleaved during the product, which requires the chosen expert's id.
    const canIndex = !isQuantized(experts.spec.dtype) || context.interleaving(experts) !== undefined;
    context.reserve(Math.max(maxIndexed * singleBytes, gatheredBytes + productBytes + path.scratch(most * chosen, n, k)));
    const slotsPerVector = x.spec.shape.length === 2 ? chosen : 1;
    const products: ExpertProducts = { x, experts, ids, y, path, count, n, k, slotsPerVector, gatheredBytes, productBytes, singleBytes };
    const index = indexing(context, path.single, count, path.matrixBytes(n, k));
    return function* (run) {
      const [tokens] = tupleOf(run.shape(ids), 2);
      const slots = tokens * chosen;
      if (slots === 0 || n === 0) return;
      yield* canIndex && k > 0 && slots <= maxIndexed
        ? indexedProducts(products, index, run, slots)
        : gatheredProducts(products, context.heap, run, slots);
    } satisfies Task;
  },
};

/** Operands, extents and scratch memory of a call. A slot is one of the experts that a token chose. */
interface ExpertProducts {
  readonly x: Operand;
  readonly experts: Operand;
  readonly ids: Operand;
  readonly y: Operand;
  readonly path: Path;
  readonly count: number;
  readonly n: number;
  readonly k: number;
  /** Slots that multiply the same vector of `x`. */
  readonly slotsPerVector: number;
  readonly gatheredBytes: number;
  readonly productBytes: number;
  readonly singleBytes: number;
}

/** Products with experts that are looked up when they run: the calls do not depend on the choice. */
function* indexedProducts(
  { x, experts, ids, y, path, n, k, slotsPerVector, singleBytes }: ExpertProducts,
  index: ReturnType<typeof indexing>,
  run: Run,
  slots: number,
): Iterable<Stage> {
  const [from, b, idsAt, to] = [run.address(x), run.address(experts), run.address(ids), run.address(y)];
  const stages: Call[][] = [];
  for (let slot = 0; slot < slots; slot++) {
    const a = from + 4 * k * Math.floor(slot / slotsPerVector);
    const scratch = run.scratch + slot * singleBytes;
    let next = 0;
    for (const stage of path.multiply({ a, b, y: to + 4 * n * slot, m: 1, n, k, scratch })) {
      const calls = index(stage, idsAt + 4 * slot);
      if (calls === undefined || "fn" in calls) continue;
      const own = stages[next];
      if (own === undefined) stages.push([...calls]);
      else own.push(...calls);
      next++;
    }
  }
  yield* stages;
}

/** Products with each expert of all rows that chose it. They are deferred until the ids are known. */
function* gatheredProducts(
  { x, experts, ids, y, path, count, n, k, slotsPerVector, gatheredBytes, productBytes }: ExpertProducts,
  heap: Heap,
  run: Run,
  slots: number,
): Iterable<Stage | DeferredStages> {
  const [from, weights, idsAt, to] = [run.address(x), run.address(experts), run.address(ids) / 4, run.address(y)];
  const scratch = run.scratch + gatheredBytes + productBytes;
  const byId = byExpert(heap.i32.subarray(idsAt, idsAt + slots), count);
  const isNone = (expert: number): boolean => expert < 0 || k === 0;
  const users = [...byId].flatMap(([expert, of]) => (isNone(expert) ? [] : of));
  for (const [i, slot] of users.entries()) {
    copy(heap, from + 4 * k * Math.floor(slot / slotsPerVector), run.scratch + 4 * k * i, k);
    if (i % rowsPerTurn === 0) yield;
  }
  yield function* () {
    let first = 0;
    for (const [expert, { length: m }] of byId) {
      if (isNone(expert)) continue;
      const [a, product] = [run.scratch + 4 * k * first, run.scratch + gatheredBytes + 4 * n * first];
      yield* path.multiply({ a, b: weights + expert * path.matrixBytes(n, k), y: product, m, n, k, scratch });
      first += m;
    }
  };
  for (const [i, slot] of users.entries()) {
    copy(heap, run.scratch + gatheredBytes + 4 * n * i, to + 4 * n * slot, n);
    if (i % rowsPerTurn === 0) yield;
  }
  for (const [expert, of] of byId) {
    if (isNone(expert)) for (const slot of of) heap.f32.fill(0, to / 4 + slot * n, to / 4 + (slot + 1) * n);
  }
}

/** Indices in `ids` of each expert; -1 collects ids outside `count`. */
function byExpert(ids: Int32Array, count: number): ReadonlyMap<number, readonly number[]> {
  const users = new Map<number, number[]>();
  ids.forEach((id, slot) => {
    const expert = id >= 0 && id < count ? id : -1;
    const slots = users.get(expert);
    if (slots === undefined) users.set(expert, [slot]);
    else slots.push(slot);
  });
  return users;
}

function copy({ f32 }: Heap, from: number, to: number, count: number): void {
  f32.copyWithin(to / 4, from / 4, from / 4 + count);
}
