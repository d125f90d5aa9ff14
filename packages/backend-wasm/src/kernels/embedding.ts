import { elementCount, layoutOf } from "@centella/core";
import type { Kernel } from "../kernel.ts";

/** Rows between two pauses. */
const chunk = 256;

export const embedding: Kernel = {
  emit: () => undefined,
  build({ exports, heap, storedAs }, [table, ids], _params, y) {
    const stored = storedAs(table!);
    const decode = exports(`decode.${stored}`);
    const { elements, bytes } = layoutOf(stored);
    return function* (run) {
      const [rows, d] = run.shape(table!) as readonly [number, number];
      const [from, idsAt, to, count] = [run.address(table!), run.address(ids!) / 4, run.address(y), elementCount(run.shape(ids!))];
      const rowBytes = (d / elements) * bytes;
      for (let i = 0; i < count; i++) {
        const id = heap.i32[idsAt + i]!;
        if (id >= 0 && id < rows) decode(from + id * rowBytes, to + 4 * i * d, d);
        else heap.f32.fill(0, to / 4 + i * d, to / 4 + (i + 1) * d);
        if (i % chunk === chunk - 1) yield;
      }
    };
  },
};
