import type { Heap } from "../heap.ts";
import type { Kernel, ParamsOf, Task } from "../kernel.ts";
import { choosePath } from "./matmul.ts";

const align = (bytes: number): number => Math.ceil(bytes / 64) * 64;

export const moeMatmul: Kernel<ParamsOf<"moeMatmul">> = {
  build(context, [x, experts, ids], { activations }, y) {
    const { heap, max } = context;
    const path = choosePath(context, experts!, { transposeA: false, transposeB: true, activations });
    const [most, chosen] = max(ids!).shape as readonly [number, number];
    const [, n, k] = max(experts!).shape as readonly [number, number, number];
    const [gatheredBytes, productBytes] = [align(4 * most * chosen * k), align(4 * most * chosen * n)];
    context.reserve(gatheredBytes + productBytes + path.scratch(most * chosen, n, k));
    const perVector = x!.spec.shape.length === 2 ? chosen : 1;
    const expertBytes = path.matrixBytes(n, k);

    return function* (run) {
      const [count] = run.shape(experts!) as readonly [number];
      const [tokens] = run.shape(ids!) as readonly [number];
      const [from, weights, idsAt, to] = [run.address(x!), run.address(experts!), run.address(ids!) / 4, run.address(y)];
      const scratch = run.scratch + gatheredBytes + productBytes;
      const row = (slot: number): number => from + 4 * k * Math.floor(slot / perVector);
      const users = byExpert(heap.i32.subarray(idsAt, idsAt + tokens * chosen), count);
      for (const slot of users.get(-1) ?? []) heap.f32.fill(0, to / 4 + slot * n, to / 4 + (slot + 1) * n);
      for (const [expert, slots] of users) {
        if (expert < 0) continue;
        if (k === 0) {
          for (const slot of slots) heap.f32.fill(0, to / 4 + slot * n, to / 4 + (slot + 1) * n);
          continue;
        }
        const b = weights + expert * expertBytes;
        const [only] = slots;
        if (slots.length === 1) {
          yield* path.multiply({ a: row(only!), b, y: to + 4 * n * only!, m: 1, n, k, scratch });
          continue;
        }
        slots.forEach((slot, i) => void copy(heap, row(slot), run.scratch + 4 * k * i, k));
        yield* path.multiply({ a: run.scratch, b, y: run.scratch + gatheredBytes, m: slots.length, n, k, scratch });
        slots.forEach((slot, i) => void copy(heap, run.scratch + gatheredBytes + 4 * n * i, to + 4 * n * slot, n));
      }
    } satisfies Task;
  },
};

/** The places in `ids` that ask for each expert, experts in order; -1 stands for ids that are none of the `count` experts. */
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
