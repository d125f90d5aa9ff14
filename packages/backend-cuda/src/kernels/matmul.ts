import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import {
  type Epilogue,
  type RoundedType,
  roundActivationsStep,
  roundingOf,
  type SiblingProduct,
  type SiblingResult,
  type Siblings,
} from "@centella/gpu-kernels";
import { launchOf } from "../ptx/gpuKernel.ts";
import { type FewRowsProducts, fewRowsLaunches } from "./products/fewRows.ts";
import { bucketElements, fixed, input, type KernelCall, type KernelOf, type Launch, type Parameter } from "./shared/kernel.ts";
import { columnProduct, type Product, tiledProduct, vectorProduct } from "./shared/product.ts";
import { siblingProducts } from "./shared/siblingProducts.ts";

/** Most rows of `a` for which columns are computed for all rows at once; beyond, both operands are read in tiles. */
const maxVectorRows = 8;

export const matmul: KernelOf<"matmul"> = { epilogue: true, launches: productLaunches };

function productLaunches(call: KernelCall, params: ParamsOf<"matmul">): readonly Launch[] {
  const { transposeA, transposeB } = params;
  const [a, b] = operands(call);
  const given: Product = { a: input(0), aShape: a.shape, transposeA, transposeB, epilogue: call.epilogue };
  const rows = bucketElements(call, call.output.shape.slice(-2, -1));
  const multiply = rows > maxVectorRows ? tiledProduct : transposeB ? vectorProduct : columnProduct;
  const type = roundingOf(b, params);
  const few = transposeA || call.unitsOf(1) === undefined ? undefined : fewRowsLaunches(call, singleProduct(call, a, b, params));
  if (few !== undefined) return few;
  if (type === undefined) return [multiply(call, given)];
  const rounded = new Scratch().take(call, a);
  const aShape = transposeA ? [...a.shape.slice(0, -2), ...a.shape.slice(-2).toReversed()] : a.shape;
  return [roundingLaunch(call, a, type, transposeA, rounded), multiply(call, { ...given, a: rounded, aShape, transposeA: false })];
}

/** The call as products of its first input. */
function singleProduct({ output, epilogue }: KernelCall, a: TensorSpec, b: TensorSpec, params: ParamsOf<"matmul">): FewRowsProducts {
  const plain: Epilogue = { args: {}, apply: (_scope, _index, results) => elementAt(results, 0) };
  const product: SiblingProduct = { left: 0, input: 1, weight: b, params, output };
  const result = { epilogue: epilogue ?? plain, products: [product], y: { kind: "output" }, shape: output.shape } as const;
  return { depth: fixed(a.shape.at(-1)), results: [result] };
}

function operands({ inputs: [a, b] }: KernelCall): readonly [a: TensorSpec, b: TensorSpec] {
  if (a === undefined || b === undefined) throw new RangeError("expected both operands of a product");
  return [a, b];
}

/** Rounds the rows of `a`, input 0. */
function roundingLaunch(call: KernelCall, a: TensorSpec, type: RoundedType, transposed: boolean, rounded: Parameter): Launch {
  const args = { a: { kind: "input", index: 0, dtype: "f32" }, y: { kind: "scratch", dtype: "f32", elements: a.shape } } as const;
  const rounding = launchOf(call, "round", roundActivationsStep(a, type, transposed, args));
  return { ...rounding, args: rounding.args.map((argument) => (argument.kind === "scratch" ? rounded : argument)) };
}

/** Products of the call's first input with others of its inputs, each of which goes into one result. */
export function siblingLaunches(call: KernelCall, { a, lefts, results }: Siblings): readonly Launch[] {
  const scratch = new Scratch();
  const roundings: Launch[] = [];
  const operandsOf = lefts.map((type): Parameter => {
    if (type === undefined) return input(0);
    const rounded = scratch.take(call, a);
    roundings.push(roundingLaunch(call, a, type, false, rounded));
    return rounded;
  });
  const left = ({ left: index }: SiblingProduct): Parameter => operandsOf[index] ?? input(0);
  const few = fewRowsLaunches(call, { depth: fixed(a.shape.at(-1)), results });
  if (few !== undefined) return few;
  const rows = bucketElements(call, a.shape.slice(0, -1));
  if (rows <= maxVectorRows) return [...roundings, siblingProducts(call, fixed(a.shape.at(-1)), results, left)];
  const products = results.flatMap((result) => resultLaunches(call, a, result, left, scratch));
  return [...roundings, ...products];
}

/** A launch for each product of a result. All but the last product wait in scratch memory for the epilogue of the last one. */
function resultLaunches(
  call: KernelCall,
  a: TensorSpec,
  { products, epilogue, y }: SiblingResult,
  left: (product: SiblingProduct) => Parameter,
  scratch: Scratch,
): readonly Launch[] {
  const waiting = products.slice(0, -1).map(({ output }) => scratch.take(call, output));
  const last: Epilogue = {
    args: epilogue.args,
    apply: (scope, index, values) => epilogue.apply(scope, index, [...waiting.map((_, i) => scope.k.load(`p${i}`, index)), ...values]),
  };
  const earlier = Object.fromEntries(waiting.map((argument, i) => [`p${i}`, argument]));
  return products.map((product, i) => {
    const { input: index, weight, output } = product;
    const b: Parameter = { kind: "input", index, dtype: weight.dtype };
    const target = waiting[i];
    const given = { a: left(product), b, aShape: a.shape, transposeA: false, transposeB: true };
    const own = target === undefined ? { ...given, y, epilogue: last, earlier } : { ...given, y: target };
    return tiledProduct({ ...call, inputs: [a, weight, ...call.inputs], output }, own);
  });
}

/** Hands out scratch memory of a call. */
class Scratch {
  #bytes = 0;

  /** Memory for a tensor of f32. */
  take(call: KernelCall, { shape }: TensorSpec): Parameter {
    const bytes = 4 * bucketElements(call, shape);
    const offset = this.#bytes;
    this.#bytes += Math.ceil(bytes / 256) * 256;
    return { kind: "scratch", bytes, ...(offset > 0 && { offset }) };
  }
}
