import { elementCount, layoutOf } from "@centella/core";
import type { Kernel } from "../kernel.ts";
import { readInterleavedRow, rowBytesOf } from "../storedForm.ts";

/** Rows between two pauses. */
const chunk = 256;

export const embedding: Kernel = {
  emit: () => undefined,
  build({ exports, heap, storedAs, interleaving, max, reserve }, [table, ids], _params, y) {
    const stored = storedAs(table!);
    const interleaved = interleaving(table!);
    const decode = exports(`decode.${stored}`);
    const { elements, bytes } = layoutOf(stored);
    if (interleaved !== undefined) reserve(rowBytesOf(interleaved, max(table!).shape[1]!));
    return function* (run) {
      const [rows, d] = run.shape(table!) as readonly [number, number];
      const [from, idsAt, to, count] = [run.address(table!), run.address(ids!) / 4, run.address(y), elementCount(run.shape(ids!))];
      const rowBytes = (d / elements) * bytes;
      for (let i = 0; i < count; i++) {
        const id = heap.i32[idsAt + i]!;
        if (id >= 0 && id < rows) {
          let row = from + id * rowBytes;
          if (interleaved !== undefined) {
            row = run.scratch;
            readInterleavedRow(interleaved, id, rows, heap.u8, from, heap.u8.subarray(row, row + rowBytes));
          }
          decode(row, to + 4 * i * d, d);
        } else heap.f32.fill(0, to / 4 + i * d, to / 4 + (i + 1) * d);
        if (i % chunk === chunk - 1) yield;
      }
    };
  },
};
