import { layoutOf, type Operand } from "@centella/core";
import type { ModuleBuilder } from "../emit/index.ts";
import { type FormatName, formatNames } from "../formats/index.ts";
import { groupedBytes } from "../formats/interleave.ts";
import type { BuildContext } from "../kernel.ts";
import type { Target } from "../target.ts";
import { emitExactGroups } from "./exactGroups.ts";
import { exactProduct, exactScratch } from "./exactProduct.ts";
import { emitIndexed } from "./indexed.ts";
import { emitInner } from "./inner.ts";
import { innerProduct, innerScratch } from "./innerProduct.ts";
import { panelledBytes } from "./outer.ts";
import { emitPanels } from "./outerPanels.ts";
import { outerProduct, outerScratch, panelProduct } from "./outerProduct.ts";
import { emitFew, emitRow, emitVector } from "./outerRows.ts";
import { emitTiles } from "./outerTiles.ts";
import type { Path } from "./product.ts";

/**
 * Products with activations as they are: all of weights that are no blocks, and those of blocks where activations are not to be rounded. Of
 * models with block weights a page never has them.
 */

/** Emits what such products call. */
export function emitUnrounded(module: ModuleBuilder, target: Target): void {
  emitInner(module, target);
  emitPanels(module, target);
  emitFew(module, target);
  const tile = emitTiles(module, target);
  const row = emitRow(module, target);
  emitVector(module, target, row);
  emitExactGroups(module, { tile, row });
  emitIndexed(module, [
    ...["f32", "f16", "bf16"].map((dtype) => `inner.vector.${dtype}`),
    ...formatNames.map((name) => `exactRows.${name}`),
  ]);
}

/** How to multiply with `b`, of the format `form` if it is one of blocks. */
export function unroundedPath(context: BuildContext, b: Operand, form: FormatName | undefined, transposeB: boolean): Path {
  const { exports, include, target, threads, rooms } = context;
  include(emitUnrounded);
  const { dtype } = b.spec;
  const single = form === undefined ? `inner.vector.${dtype}` : `exactRows.${form}`;
  const outerRoom = (m: number, n: number): number => outerScratch(m, n, threads);
  if (context.isPanelled(b)) return { single, matrixBytes: panelledBytes, multiply: panelProduct(exports, threads), scratch: outerRoom };
  if (form !== undefined) {
    const matrixBytes = (n: number, k: number): number => groupedBytes(form, n, k);
    return { single, matrixBytes, multiply: exactProduct(exports, form, threads, rooms), scratch: exactScratch(target, rooms) };
  }
  const matrixBytes = (n: number, k: number): number => n * k * layoutOf(dtype).bytes;
  return transposeB
    ? { single, matrixBytes, multiply: innerProduct(exports, dtype, threads, rooms), scratch: innerScratch(rooms) }
    : { single, matrixBytes, multiply: outerProduct(exports, dtype, threads), scratch: outerRoom };
}
