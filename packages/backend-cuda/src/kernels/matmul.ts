import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, elementCount, formatSpec } from "@centella/core/backend";
import {
  type AnchoredCall,
  type Epilogue,
  type RoundedType,
  roundActivationsStep,
  roundingOf,
  type SiblingProduct,
  type SiblingResult,
  type Siblings,
} from "@centella/gpu-kernels";
import { launchOf } from "../ptx/gpuKernel.ts";
import { fewRowsLaunches, type UnitProducts } from "./products/fewRows.ts";
import { manyRowsLaunches } from "./products/manyRows/manyRows.ts";
import { mixedInputLaunches } from "./products/mixedInput/mixedInput.ts";
import { bucketElements, fixed, input, type KernelCall, type KernelOf, type Launch, type Parameter } from "./shared/kernel.ts";
import { largeTileProduct } from "./shared/largeTileProduct.ts";
import { isStaged, maxVectorRows, normedRows } from "./shared/normedRows.ts";
import { columnProduct, type Product, tiledProduct, vectorProduct } from "./shared/product.ts";
import { Scratch } from "./shared/scratch.ts";
import { siblingProducts, storedRows } from "./shared/siblingProducts.ts";

export const matmul: KernelOf<"matmul"> = { epilogue: true, launches: productLaunches };

function productLaunches(call: KernelCall, params: ParamsOf<"matmul">): readonly Launch[] {
  const { transposeA, transposeB } = params;
  const [a, b] = operands(call);
  const given: Product = { a: input(0), aShape: a.shape, transposeA, transposeB, epilogue: call.epilogue };
  const rows = bucketElements(call, call.output.shape.slice(-2, -1));
  const multiply = rows > maxVectorRows ? manyRowsProduct : transposeB ? vectorProduct : columnProduct;
  const type = roundingOf(b, params);
  const inUnits =
    transposeA || call.unitsOf(1) === undefined ? undefined : unitLaunches(call, singleProduct(call, a, b, params), new Scratch());
  if (inUnits !== undefined) return inUnits;
  if (type === undefined) return [multiply(call, given)];
  const rounded = new Scratch().take(call, a);
  const aShape = transposeA ? [...a.shape.slice(0, -2), ...a.shape.slice(-2).toReversed()] : a.shape;
  return [roundingLaunch(call, a, type, transposeA, rounded), multiply(call, { ...given, a: rounded, aShape, transposeA: false })];
}

/** A product in f32, in tiles as large as fill the device. */
function manyRowsProduct(call: KernelCall, given: Product): Launch {
  return largeTileProduct(call, given) ?? tiledProduct(call, given);
}

/** Launches on tensor cores, if weights are in units and operands may be rounded to halves. */
function unitLaunches(call: KernelCall, products: Omit<UnitProducts, "norm">, scratch: Scratch): readonly Launch[] | undefined {
  return warpgroupLaunches(call, products, scratch) ?? fewRowsLaunches(call, products);
}

/** Launches on tensor cores of warpgroups, for more rows. */
function warpgroupLaunches(call: KernelCall, products: UnitProducts, scratch: Scratch): readonly Launch[] | undefined {
  return mixedInputLaunches(call, products, scratch) ?? manyRowsLaunches(call, products, scratch);
}

/** The call as products of its first input. */
function singleProduct({ output, epilogue }: KernelCall, a: TensorSpec, b: TensorSpec, params: ParamsOf<"matmul">): UnitProducts {
  const plain: Epilogue = { args: {}, apply: (_scope, _index, results) => elementAt(results, 0) };
  const product: SiblingProduct = { left: 0, input: 1, weight: b, params, output };
  const result = { epilogue: epilogue ?? plain, products: [product], y: { kind: "output" }, shape: output.shape } as const;
  return { depth: fixed(a.shape.at(-1)), results: [result] };
}

function operands({ inputs: [a, b] }: KernelCall): readonly [a: TensorSpec, b: TensorSpec] {
  if (a === undefined || b === undefined) throw new RangeError("expected both operands of a product");
  return [a, b];
}

/** Rounds the rows of `a`, which are in `from`. */
function roundingLaunch(
  call: KernelCall,
  a: TensorSpec,
  type: RoundedType,
  transposed: boolean,
  rounded: Parameter,
  from: Parameter = input(0),
): Launch {
  const args = { a: { kind: "input", index: 0, dtype: "f32" }, y: { kind: "scratch", dtype: "f32", elements: a.shape } } as const;
  const rounding = launchOf(call, "round", roundActivationsStep(a, type, transposed, args), [type, transposed]);
  const placed: Partial<Record<Parameter["kind"], Parameter>> = { scratch: rounded, input: from };
  return { ...rounding, args: rounding.args.map((argument) => placed[argument.kind] ?? argument) };
}

/** Products of the call's first input, or of rows that `norm` computes, with others of its inputs. Each product goes into one result. */
export function siblingLaunches(call: KernelCall, siblings: Siblings, norm?: NormLaunches): readonly Launch[] {
  const { a, lefts, results } = siblings;
  const depth = fixed(a.shape.at(-1));
  const rows = bucketElements(call, a.shape.slice(0, -1));
  const scratch = new Scratch();
  if (norm !== undefined && lefts.length === 1) {
    const normed = warpgroupLaunches(call, { depth, results, norm: norm.call }, scratch);
    if (normed !== undefined) return normed;
  }
  if (norm !== undefined && isStaged(siblings, rows)) {
    const normed = fewRowsLaunches(call, { depth, results, norm: norm.call });
    if (normed !== undefined) return normed;
    // Where tensor cores multiply rows that a launch of its own has normed, they are still faster.
    if (fewRowsLaunches(call, { depth, results }) === undefined)
      return [siblingProducts(call, depth, results, normedRows(call, norm.call, siblings))];
  }
  const from = norm === undefined ? input(0) : scratch.take(call, a);
  const before: Launch[] = norm === undefined ? [] : [...norm.launches(from)];
  const operandsOf = lefts.map((type): Parameter => {
    if (type === undefined) return from;
    const rounded = scratch.take(call, a);
    before.push(roundingLaunch(call, a, type, false, rounded, from));
    return rounded;
  });
  const inUnits = unitLaunches(call, { depth, results, from }, scratch);
  if (inUnits !== undefined) return [...before, ...inUnits];
  if (rows <= maxVectorRows) return [...before, siblingProducts(call, depth, results, storedRows(depth, operandsOf))];
  const left = ({ left: index }: SiblingProduct): Parameter => operandsOf[index] ?? from;
  const products = results.flatMap((result) => resultLaunches(call, a, result, left, scratch));
  return [...before, ...products];
}

/** The norm of a group, and the launches that store its result. */
interface NormLaunches {
  readonly call: AnchoredCall;
  launches(to: Parameter): readonly Launch[];
}

/** The reason why no launch would norm the rows that it multiplies; undefined if one does for the fewest rows that a run has. */
export function normUnsupported(siblings: Siblings): string | undefined {
  const rows = elementCount(siblings.a.shape.slice(0, -1).map((dim) => (typeof dim === "number" ? dim : 1)));
  if (isStaged(siblings, rows)) return undefined;
  return siblings.lefts.length > 1 ? "a norm that is rounded in several ways" : `${formatSpec(siblings.a)} is too large for each block`;
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
    return manyRowsProduct({ ...call, inputs: [a, weight, ...call.inputs], output }, own);
  });
}
