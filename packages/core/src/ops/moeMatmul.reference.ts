import { lastOf } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { transposedProduct } from "./shared/transposedProduct.ts";

export const moeMatmul: Reference<"moeMatmul"> = ([x, experts, ids], { activations }, y) => {
  const [count, n, k] = experts.spec.shape as readonly [number, number, number];
  const perToken = x.spec.shape.length === 2 ? lastOf(ids.spec.shape) : 1;
  const multiply = transposedProduct(experts, activations);
  const sums = new Float64Array(n);
  ids.data.forEach((id, i) => {
    if (id < 0 || id >= count)
      throw new ArgumentError("moeMatmul", `ids from 0 to ${count - 1}`, `${id} at ${i}`, "pass the ids that moeRoute returns");
    const at = Math.floor(i / perToken) * k;
    multiply((x.data as Float32Array).slice(at, at + k), id * n * k, sums);
    (y.data as Float32Array).set(sums, i * n);
  });
};
