import { layoutOf } from "@centella/core/backend";
import { type BlockType, codebook } from "@centella/quant";
import { type FunctionRef, i32, type ModuleBuilder, type Signature } from "../emit/index.ts";
import type { BuildContext } from "../kernel.ts";
import type { Target } from "../target.ts";
import { Block } from "./block.ts";
import { decoders } from "./decoders.ts";

const signature = { x: "i32", y: "i32", grid: "i32", begin: "i32", end: "i32" } as const;

/** Function of a module that decodes the blocks `begin` to `end` of `x` to `y`, shared by all callers. */
export function blockDecoder(
  module: ModuleBuilder,
  target: Target,
  dtype: BlockType,
): FunctionRef<Signature & typeof signature, undefined> {
  const name = `blocks.${dtype}`;
  if (!module.functions.some((emitted) => emitted.name === name)) defineDecoder(module, name, target, dtype);
  return module.find(name, signature);
}

function defineDecoder(module: ModuleBuilder, name: string, target: Target, dtype: BlockType): void {
  const { elements, bytes } = layoutOf(dtype);
  module.function(name, signature, (f, { x, y, grid, begin, end }) => {
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

/** `name(x, y, grid, begin, end)`: {@link blockDecoder} under another name. */
export function emitDequantize(module: ModuleBuilder, name: string, target: Target, dtype: BlockType): void {
  const decode = blockDecoder(module, target, dtype);
  module.function(name, signature, (f, operands) => f.call(decode, operands));
}

/** Address of a block type's codebook, once it is known; 0 for types without one. */
export function gridOf({ shared, table }: BuildContext, dtype: BlockType): () => number {
  return shared(`codebook ${dtype}`, () => {
    const points = codebook(dtype);
    return points === undefined ? () => 0 : table(points.length, (bytes) => bytes.set(points));
  });
}
