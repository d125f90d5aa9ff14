import { elementCount, isQuantized, lastOf, layoutOf, tupleOf } from "@centella/core/backend";
import type { BlockType } from "@centella/quant";
import { type FunctionBuilder, i32, type Local, threadIndex } from "../emit/index.ts";
import { groupRows } from "../formats/block.ts";
import { formatNames, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { Kernel } from "../kernel.ts";
import { lazyPart } from "../linking/lazyParts.ts";

/** Rows per tile. */
const grain = 16;

const signature = {
  table: "i32",
  ids: "i32",
  y: "i32",
  rows: "i32",
  d: "i32",
  rowBytes: "i32",
  blocks: "i32",
  threadScratch: "i32",
  begin: "i32",
  end: "i32",
} as const;

export const embedding: Kernel<"embedding"> = {
  emit(module) {
    /** Visits rows `begin` to `end`. Rows outside the table are zeros. */
    const define = (name: string, read: (f: FunctionBuilder, p: Parameters, id: Pointer, to: Pointer) => void): void => {
      module.function(`embedding.${name}`, signature, (f, p) => {
        const [id, to] = f.locals("i32", 2);
        f.while(i32.ltU(p.begin, p.end), () => {
          f.set(id, i32.load(i32.add(p.ids, i32.shl(p.begin, 2))));
          f.set(to, i32.add(p.y, i32.shl(i32.mul(p.begin, p.d), 2)));
          f.if(
            i32.ltU(id, p.rows),
            () => read(f, p, id, to),
            () => f.memoryFill(to, 0, i32.shl(p.d, 2)),
          );
          f.advance(p.begin, 1);
        });
      });
    };
    for (const dtype of ["f32", "f16", "bf16"] as const) {
      const decode = module.find(`decode.${dtype}`);
      define(dtype, (f, p, id, to) => f.call(decode, { from: i32.add(p.table, i32.mul(id, p.rowBytes)), to, n: p.d }));
    }
    const pick = module.find("panel.row");
    for (const form of formatNames) {
      const panel = module.find(`panel.${form}`);
      define(form, (f, p, id, to) => {
        const lane = f.let(i32.and(id, groupRows - 1));
        const scratch = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, i32.mul(p.d, 4 * groupRows))));
        f.call(panel, { w: i32.add(p.table, i32.mul(i32.sub(id, lane), p.rowBytes)), to: scratch, blocks: p.blocks });
        f.call(pick, { from: i32.add(scratch, i32.shl(lane, 2)), to, k: p.d });
      });
    }
  },
  build(context, [table, ids], _params, y) {
    const { exports, interleaving, max, reserve, maxThreads } = context;
    const { dtype } = table.spec;
    const form = interleaving(table);
    if (form !== undefined) reserve(4 * groupRows * lastOf(max(table).shape) * maxThreads);
    if (form === undefined && isQuantized(dtype)) {
      const type = dtype as BlockType;
      const { emitLookUp, gridOf } = lazyPart("lookUp");
      const fn = context.emit(`embedding ${type}`, (module, name, target) => emitLookUp(module, name, target, type));
      const points = gridOf(context, type);
      const { elements } = layoutOf(dtype);
      return function* (run) {
        const [rows, d] = tupleOf(run.shape(table), 2);
        const args = [run.address(table), run.address(ids), run.address(y), rows, d / elements, points()];
        yield { fn, args, total: elementCount(run.shape(ids)), grain };
      };
    }
    const fn = exports(`embedding.${form ?? dtype}`);
    return function* (run) {
      const [rows, d] = tupleOf(run.shape(table), 2);
      const rowBytes = form === undefined ? d * layoutOf(dtype).bytes : rowBytesOf(form, d);
      const blocks = form === undefined ? 0 : d / formatOf(form).elements;
      const args = [run.address(table), run.address(ids), run.address(y), rows, d, rowBytes, blocks, run.scratch];
      yield { fn, args, total: elementCount(run.shape(ids)), grain };
    };
  },
};

type Pointer = Local<"i32">;
type Parameters = { readonly [K in keyof typeof signature]: Pointer };
