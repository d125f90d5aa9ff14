import type { DimValues, TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import type { ActivationType } from "@centella/quant";
import { quotient } from "../../wgsl/functions.ts";
import { defineKernel, input, toHalf } from "../../wgsl/module.ts";
import type { Binding, Kernel } from "./kernel.ts";
import { extents } from "./shape.ts";

const lanes = 64;

/**
 * Rounds each row of `a [..., m, k]` (or `[..., k, m]`) to the blocks that ggml pairs with a weight type, in f32 again, as
 * `roundActivations` of `@centella/quant` does; writes `[..., m, k]`. A lane per block.
 */
export function roundActivations(a: TensorSpec, transposed: boolean, type: ActivationType, target: Binding): Kernel {
  const block = type === "q8_K" ? 256 : 32;
  return defineKernel({
    bindings: [input("source", 0), target],
    uniforms: { m: "u32", k: "u32", count: "u32" },
    lanes,
    declarations: [...quotient, ...(type === "q8_K" ? [] : [toHalf])],
    body: `
      let i = group * ${lanes}u + lane;
      if (i >= p.count) { return; }
      let blocks = p.k / ${block}u;
      let row = i / blocks;
      let first = i % blocks * ${block}u;
      let start = ${transposed ? "row / p.m * p.m * p.k + first * p.m + row % p.m" : "row * p.k + first"};
      let apart = ${transposed ? "p.m" : "1u"};
      let to = row * p.k + first;
      var largest = 0.0; var signed = 0.0;
      for (var j = 0u; j < ${block}u; j++) {
        let x = source[start + j * apart];
        if (abs(x) > largest) { largest = abs(x); signed = x; }
      }
      ${type === "q8_K" ? signedBlock : plainBlock}
      for (var j = 0u; j < ${block}u; j++) {
        let q = round(source[start + j * apart] * inverse);
        ${target.name}[to + j] = d * ${type === "q8_K" ? "min(127.0, q)" : "q"};
      }
    `,
    dispatch(dims: DimValues) {
      const shape = extents(a.shape, dims);
      const [m, k] = transposed ? [shape.at(-1)!, shape.at(-2)!] : [shape.at(-2)!, shape.at(-1)!];
      const count = elementCount(shape) / block;
      return { groups: Math.ceil(count / lanes), values: { m, k, count } };
    },
  });
}

const plainBlock = `var inverse = 0.0; var d = 0.0;
      if (largest > 0.0) { inverse = quotient(127.0, largest); d = unpack2x16float(toHalf(quotient(largest, 127.0))).x; }`;

const signedBlock = `var inverse = 0.0; var d = 0.0;
      if (largest > 0.0) { inverse = quotient(-127.0, signed); d = quotient(1.0, inverse); }`;
