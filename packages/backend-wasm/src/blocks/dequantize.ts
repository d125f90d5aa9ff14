import { layoutOf } from "@centella/core";
import { type BlockType, codebook } from "@centella/quant";
import { type FunctionRef, i32, type ModuleBuilder } from "../emit/index.ts";
import type { BuildContext } from "../kernel.ts";
import type { Target } from "../target.ts";
import { Block } from "./block.ts";
import { decoders } from "./decoders.ts";

const signature = { x: "i32", y: "i32", grid: "i32", begin: "i32", end: "i32" } as const;

/** `name(x, y, grid, begin, end)` writes the values of the blocks `begin` to `end` of `x` to their places in `y`. */
export function emitDequantize(
  module: ModuleBuilder,
  name: string,
  target: Target,
  dtype: BlockType,
): FunctionRef<typeof signature, undefined> {
  const { elements, bytes } = layoutOf(dtype);
  return module.function(name, signature, (f, { x, y, grid, begin, end }) => {
    const from = f.let(i32.add(x, i32.mul(begin, bytes)));
    const to = f.let(i32.add(y, i32.mul(begin, 4 * elements)));
    f.while(i32.ltU(begin, end), () => {
      decoders[dtype](new Block(f, target, { from, to, grid }));
      f.advance(from, bytes);
      f.advance(to, 4 * elements);
      f.advance(begin, 1);
    });
  });
}

/** Address of the codebook of a block type, once it is known; 0 for types without one. */
export function gridOf({ shared, table }: BuildContext, dtype: BlockType): () => number {
  return shared(`codebook ${dtype}`, () => {
    const points = codebook(dtype);
    return points === undefined ? () => 0 : table(points.length, (bytes) => bytes.set(points));
  });
}
