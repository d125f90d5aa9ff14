import { isQuantized, type ParamsOf } from "@centella/core";
import { bucketElements, input, type Kernel, type KernelCall, type Launch } from "./shared/kernel.ts";
import { type Finish, type Product, tiledProduct, vectorProduct } from "./shared/product.ts";
import { roundActivationsLaunch } from "./shared/roundActivations.ts";

/** Most rows of `a` for which each warp computes one column of all rows; beyond, both operands are read in tiles. */
const maxVectorRows = 8;

export const matmul: Kernel<ParamsOf<"matmul">> = { launches: (call, params) => productLaunches(call, params) };

/** The product of the call's first two inputs, and what becomes of it before it is stored. */
export function productLaunches(
  call: KernelCall,
  { transposeA, transposeB, activations }: ParamsOf<"matmul">,
  finish?: Finish,
): readonly Launch[] {
  const [a, b] = [call.inputs[0]!, call.inputs[1]!];
  const given: Product = { a: input(0), aShape: a.shape, transposeA, transposeB, ...(finish === undefined ? {} : { finish }) };
  const rows = bucketElements(call, call.output.shape.slice(-2, -1));
  const multiply = rows <= maxVectorRows && transposeB ? vectorProduct : tiledProduct;
  if (activations === "f32" || !isQuantized(b.dtype)) return [multiply(call, given)];
  const rounded = { kind: "scratch", bytes: bucketElements(call, a.shape) * 4 } as const;
  const aShape = transposeA ? [...a.shape.slice(0, -2), a.shape.at(-1)!, a.shape.at(-2)!] : a.shape;
  return [
    roundActivationsLaunch(call, b.dtype, { a: input(0), rounded, transposed: transposeA }),
    multiply(call, { ...given, a: rounded, aShape, transposeA: false }),
  ];
}
