import { elementCount, isQuantized, layoutOf, type Operand } from "@centella/core";
import { dequantize } from "@centella/quant";
import { groupRows } from "../formats/block.ts";
import { formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { BuildContext, Kernel } from "../kernel.ts";

/** Rows between two pauses. */
const chunk = 256;

export const embedding: Kernel = {
  emit: () => undefined,
  build(context, [table, ids], _params, y) {
    const { heap } = context;
    const read = rowReader(context, table!);
    return function* (run) {
      const [rows, d] = run.shape(table!) as readonly [number, number];
      const [from, idsAt, to, count] = [run.address(table!), run.address(ids!) / 4, run.address(y), elementCount(run.shape(ids!))];
      for (let i = 0; i < count; i++) {
        const id = heap.i32[idsAt + i]!;
        if (id >= 0 && id < rows) read(from, id, d, to + 4 * i * d, run.scratch);
        else heap.f32.fill(0, to / 4 + i * d, to / 4 + (i + 1) * d);
        if (i % chunk === chunk - 1) yield;
      }
    };
  },
};

/** Writes row `id` of the table at `from` as `d` f32 to `to`. */
type RowReader = (from: number, id: number, d: number, to: number, scratch: number) => void;

function rowReader({ exports, heap, interleaving, max, reserve }: BuildContext, table: Operand): RowReader {
  const { dtype } = table.spec;
  const form = interleaving(table);
  if (form !== undefined) {
    reserve(4 * groupRows * max(table).shape[1]!);
    const [panel, pick] = [exports(`panel.${form}`), exports("panel.row")];
    const { elements } = formatOf(form);
    return (from, id, d, to, scratch) => {
      panel(from + (id - (id % groupRows)) * rowBytesOf(form, d), scratch, d / elements);
      pick(scratch + 4 * (id % groupRows), to, d);
    };
  }
  const { elements, bytes } = layoutOf(dtype);
  if (isQuantized(dtype)) {
    return (from, id, d, to) => {
      const rowBytes = (d / elements) * bytes;
      const row = from + id * rowBytes;
      dequantize(dtype, heap.u8.subarray(row, row + rowBytes), heap.f32.subarray(to / 4, to / 4 + d));
    };
  }
  const decode = exports(`decode.${dtype}`);
  return (from, id, d, to) => void decode(from + id * d * bytes, to, d);
}
