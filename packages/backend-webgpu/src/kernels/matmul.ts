import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementCount, isQuantized, tupleOf } from "@centella/core/backend";
import { type Epilogue, roundingOf, type Siblings } from "@centella/gpu-kernels";
import type { Capabilities } from "../device/capabilities.ts";
import { storeText } from "../wgsl/epilogue.ts";
import { input } from "../wgsl/module.ts";
import { readsHalves } from "./matrices/matrixTiles.ts";
import type { Binding, KernelCall, KernelOf, Resource } from "./shared/kernel.ts";
import { products, roundingDispatch } from "./shared/products.ts";
import { readsUnits } from "./shared/roundedUnits.ts";
import { maximum } from "./shared/shape.ts";
import { siblingDispatches } from "./siblings/siblingProducts.ts";

export function matmulFor(capabilities: Capabilities): KernelOf<"matmul"> {
  const options = { capabilities };
  return {
    epilogue: true,
    dispatches(call, params) {
      const [a, b] = tupleOf(call.inputs, 2);
      const type = roundingOf(b, params);
      const depth = a.shape.at(-1);
      // One row of floats is copied to the memory of workgroups.
      const isStaged = type === undefined && isQuantized(b.dtype);
      const isFast =
        isStaged ||
        readsUnits(b.dtype, type, capabilities) ||
        (typeof depth === "number" && readsHalves(b.dtype, depth, params, capabilities));
      if (isMatrix(a, b, params) && isFast) return siblingDispatches(singleProduct(call, params, type), capabilities);
      if (type === undefined) return products(call, params, { binding: input("a", 0), isPacked: false }, storeText(call.epilogue), options);
      const rounding = roundingDispatch(a, type, params.transposeA);
      const rounded: Binding = { name: "a", resource: roundedResource(a), access: "read", element: "f32" };
      const own = { ...params, transposeA: false };
      return [rounding, ...products(call, own, { binding: rounded, isPacked: false }, storeText(call.epilogue), options)];
    },
  };
}

/** Whether a product is one of rows with a weight `[n, k]`. */
function isMatrix(a: TensorSpec, b: TensorSpec, { transposeA, transposeB }: ParamsOf<"matmul">): boolean {
  return b.shape.length === 2 && transposeB && !transposeA && typeof a.shape.at(-1) === "number";
}

/** A product as the only one of its tensor. */
function singleProduct({ inputs, output, epilogue }: KernelCall, params: ParamsOf<"matmul">, type: Siblings["lefts"][number]): Siblings {
  const [a, weight] = tupleOf(inputs as readonly TensorSpec[], 2);
  const product = { left: 0, input: 1, weight, params, output };
  return {
    a,
    lefts: [type],
    results: [{ epilogue: epilogue ?? unchanged, products: [product], y: { kind: "output" }, shape: output.shape }],
  };
}

const unchanged: Epilogue = { args: {}, apply: (_scope, _index, results) => results[0] as (typeof results)[number] };

function roundedResource({ shape }: TensorSpec): Resource {
  return { kind: "scratch", bytes: 4 * elementCount(shape.map(maximum)) };
}
