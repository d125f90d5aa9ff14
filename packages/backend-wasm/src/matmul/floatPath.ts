import type { ParamsOf } from "@centella/core";
import { layoutOf, type Operand } from "@centella/core/backend";
import { isHalf } from "@centella/quant";
import type { ModuleBuilder } from "../emit/index.ts";
import type { BuildContext } from "../kernel.ts";
import type { Target } from "../target.ts";
import { emitIndexed } from "./indexed.ts";
import { emitInner } from "./inner.ts";
import { emitInnerHalves } from "./innerHalves.ts";
import { halvesProduct, halvesScratch, innerProduct, innerScratch } from "./innerProduct.ts";
import { packedBytes } from "./outer.ts";
import { emitPacking } from "./outerPacking.ts";
import { outerProduct, outerScratch, panelProduct } from "./outerProduct.ts";
import { emitFewRows, emitRow, emitVector } from "./outerRows.ts";
import { emitTiles } from "./outerTiles.ts";
import type { Path } from "./product.ts";
import { emitRound16, roundingFirst } from "./round16.ts";

/** Products with weights that are not blocks. Pages with quantized models do not load this file. */

/** Emits the functions of such products. */
export function emitFloats(module: ModuleBuilder, target: Target): void {
  emitInnerHalves(module, target, emitInner(module, target));
  emitPacking(module, target);
  emitFewRows(module, target);
  emitTiles(module, target);
  emitVector(module, target, emitRow(module, target));
  emitRound16(module);
  emitIndexed(module, ["inner.vector.f32", "inner.vector.f16", "inner.vector.bf16"]);
}

/** Chooses how to multiply with `b`. */
export function floatPath(context: BuildContext, b: Operand, { transposeB, activations }: ParamsOf<"matmul">): Path {
  context.include(emitFloats);
  const { dtype } = b.spec;
  const path = exactPath(context, b, transposeB);
  return activations === "ggml" && isHalf(dtype) ? roundingFirst(context.exports, dtype, path) : path;
}

function exactPath(context: BuildContext, b: Operand, transposeB: boolean): Path {
  const { exports, threads, maxThreads } = context;
  const { dtype } = b.spec;
  const single = `inner.vector.${dtype}`;
  const outerScratchBytes = (m: number, n: number): number => outerScratch(m, n, threads);
  if (context.isPacked(b))
    return { single, matrixBytes: packedBytes, multiply: panelProduct(exports, threads), scratch: outerScratchBytes };
  const matrixBytes = (n: number, k: number): number => n * k * layoutOf(dtype).bytes;
  if (!transposeB) return { single, matrixBytes, multiply: outerProduct(exports, dtype, threads), scratch: outerScratchBytes };
  return isHalf(dtype)
    ? { single, matrixBytes, multiply: halvesProduct(exports, dtype, threads, maxThreads), scratch: halvesScratch(maxThreads) }
    : { single, matrixBytes, multiply: innerProduct(exports, threads, maxThreads), scratch: innerScratch(maxThreads) };
}
