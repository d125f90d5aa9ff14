import type { ParamsOf, TensorSpec } from "@centella/core";
import { type FusedParams, type GroupResult, isQuantized } from "@centella/core/backend";
import type { Epilogue } from "@centella/gpu-kernels";
import { activationType } from "@centella/quant";
import { type Argument, bucketElements, fixed, input, type Kernel, type KernelCall, type Launch, output } from "./shared/kernel.ts";
import { columnProduct, type Product, tiledProduct, vectorProduct } from "./shared/product.ts";
import { roundActivationsLaunch } from "./shared/roundActivations.ts";
import { siblingProducts } from "./shared/siblingProducts.ts";

type Params = ParamsOf<"matmul">;

/** Most rows of `a` for which columns are computed for all rows at once; beyond, both operands are read in tiles. */
const maxVectorRows = 8;

export const matmul: Kernel<Params> = { epilogue: true, launches: productLaunches };

function productLaunches(call: KernelCall, { transposeA, transposeB, activations }: Params): readonly Launch[] {
  const [a, b] = [call.inputs[0]!, call.inputs[1]!];
  const given: Product = { a: input(0), aShape: a.shape, transposeA, transposeB, epilogue: call.epilogue };
  const rows = bucketElements(call, call.output.shape.slice(-2, -1));
  const multiply = rows > maxVectorRows ? tiledProduct : transposeB ? vectorProduct : columnProduct;
  if (activations !== "ggml" || !isQuantized(b.dtype)) return [multiply(call, given)];
  const rounded = { kind: "scratch", bytes: bucketElements(call, a.shape) * 4 } as const;
  const aShape = transposeA ? [...a.shape.slice(0, -2), a.shape.at(-1)!, a.shape.at(-2)!] : a.shape;
  return [
    roundActivationsLaunch(call, b.dtype, { a: input(0), rounded, transposed: transposeA }),
    multiply(call, { ...given, a: rounded, aShape, transposeA: false }),
  ];
}

/** Products of the call's first input with others of its inputs, each of which goes into one result. */
export function siblingLaunches(
  call: KernelCall,
  { body }: FusedParams,
  results: readonly (GroupResult & { readonly epilogue: Epilogue })[],
): readonly Launch[] {
  const a = call.inputs[0]!;
  const scratch = new Scratch();
  const launches: Launch[] = [];
  const roundings = new Map<string, Argument>();
  const left = (weight: TensorSpec, { activations }: Params): Argument => {
    if (activations !== "ggml" || !isQuantized(weight.dtype)) return input(0);
    const type = activationType[weight.dtype];
    const known = roundings.get(type);
    if (known !== undefined) return known;
    const rounded = scratch.take(4 * bucketElements(call, a.shape));
    roundings.set(type, rounded);
    launches.push(roundActivationsLaunch(call, weight.dtype, { a: input(0), rounded, transposed: false }));
    return rounded;
  };
  const siblings = results.map((result, i) => {
    const products = result.anchors.map((index) => {
      const { inputs, params, output: made } = body[index]!;
      const place = inputs[1]!;
      const weight = call.inputs[place]!;
      return { a: left(weight, params as Params), b: { ...input(place), dtype: weight.dtype } as const, weight, made };
    });
    const y: Argument = i < results.length - 1 ? { kind: "extraOutput", index: i } : output;
    return { products, y, shape: body[result.call]!.output.shape, epilogue: result.epilogue };
  });
  const rows = bucketElements(call, a.shape.slice(0, -1));
  if (rows <= maxVectorRows) return [...launches, siblingProducts(call, fixed(a.shape.at(-1)), siblings)];

  for (const { products, y, epilogue } of siblings) {
    // All but the last product wait in scratch memory for the epilogue of the last one.
    const waiting = products.slice(0, -1).map(({ made }) => scratch.take(4 * bucketElements(call, made.shape)));
    const last: Epilogue = {
      args: epilogue.args,
      apply: (scope, index, [value]) => epilogue.apply(scope, index, [...waiting.map((_, i) => scope.k.load(`p${i}`, index)), value!]),
    };
    const earlier = Object.fromEntries(waiting.map((argument, i) => [`p${i}`, argument]));
    for (const [i, { a: from, b, weight, made }] of products.entries()) {
      const given = { a: from, b, aShape: a.shape, transposeA: false, transposeB: true };
      const product = i < waiting.length ? { ...given, y: waiting[i]! } : { ...given, y, epilogue: last, earlier };
      launches.push(tiledProduct({ ...call, inputs: [a, weight, ...call.inputs], output: made }, product));
    }
  }
  return launches;
}

/** Hands out places of a step's scratch memory. */
class Scratch {
  #bytes = 0;

  take(bytes: number): Argument {
    const offset = this.#bytes;
    this.#bytes += Math.ceil(bytes / 256) * 256;
    return { kind: "scratch", bytes, offset };
  }
}
