import { layoutOf } from "@centella/core/backend";
import type { BlockType } from "@centella/quant";
import { i32, type ModuleBuilder } from "../emit/index.ts";
import type { Target } from "../target.ts";
import { blockDecoder } from "./dequantize.ts";

export { emitDequantize, gridOf } from "./dequantize.ts";

/**
 * `name(table, ids, y, rows, blocks, grid, begin, end)` decodes rows of a table, `blocks` blocks each. Rows outside the
 * table are zeros.
 */
export function emitLookUp(module: ModuleBuilder, name: string, target: Target, dtype: BlockType): void {
  const decode = blockDecoder(module, target, dtype);
  const { elements, bytes } = layoutOf(dtype);
  const lookUp = { table: "i32", ids: "i32", y: "i32", rows: "i32", blocks: "i32", grid: "i32", begin: "i32", end: "i32" } as const;
  module.function(name, lookUp, (f, { table, ids, y, rows, blocks, grid, begin, end }) => {
    const [id, to] = f.locals("i32", 2);
    f.while(i32.ltU(begin, end), () => {
      f.set(id, i32.load(i32.add(ids, i32.shl(begin, 2))));
      f.set(to, i32.add(y, i32.mul(i32.mul(begin, blocks), 4 * elements)));
      f.if(
        i32.ltU(id, rows),
        () => f.call(decode, { x: i32.add(table, i32.mul(i32.mul(id, blocks), bytes)), y: to, grid, begin: i32.const(0), end: blocks }),
        () => f.memoryFill(to, 0, i32.mul(blocks, 4 * elements)),
      );
      f.advance(begin, 1);
    });
  });
}
