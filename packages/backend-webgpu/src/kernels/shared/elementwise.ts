import { broadcastStrides, type DimValues, type Shape, sameShape, type TensorSpec } from "@centella/core";
import type { Binding, Field, Kernel, KernelDefinition } from "../../kernel.ts";
import { defineKernel, elementOf, input, output, specials } from "../../wgsl.ts";
import { count, extents } from "./shape.ts";

const lanes = 256;

/** One lane per element i of `shape`: `body` runs where `i < p.count`. */
export function perElement<F extends Readonly<Record<string, Field["type"]>>>(parts: {
  readonly bindings: readonly Binding[];
  readonly uniforms: F;
  readonly declarations?: string;
  readonly body: string;
  count(dims: DimValues): number;
  values(dims: DimValues): { readonly [K in keyof F]: number };
}): Kernel {
  return defineKernel({
    bindings: parts.bindings,
    uniforms: { count: "u32", ...parts.uniforms },
    lanes,
    ...(parts.declarations === undefined ? {} : { declarations: parts.declarations }),
    body: `let i = group * ${lanes}u + lane;\nif (i >= p.count) { return; }\n${parts.body}`,
    dispatch(dims) {
      const total = parts.count(dims);
      return { groups: Math.ceil(total / lanes), values: { ...parts.values(dims), count: total } };
    },
  });
}

/** A unary op on f32: `expression` of `x`; NaN stays NaN whatever the expression makes of it. Numeric parameters are `p.<name>`. */
export function unary<P extends object>(definition: {
  readonly expression: string;
  /** Functions that it calls, block by block. */
  readonly declarations?: readonly string[];
  readonly parameters?: readonly (keyof P & string)[];
}): KernelDefinition<P> {
  const { expression, declarations = [], parameters = [] } = definition;
  return {
    element: { arguments: ["x"], body: `if (isNan(x)) { return x; }\nreturn ${expression};`, declarations, parameters },
    build({ params, output: y }) {
      const kernel = perElement({
        bindings: [input("source", 0), output("y")],
        uniforms: Object.fromEntries(parameters.map((name) => [name, "f32" as const])),
        declarations: [specials, ...declarations].join("\n"),
        body: `let x = source[i];\nif (isNan(x)) { y[i] = x; return; }\ny[i] = ${expression};`,
        count: (dims) => count(y.shape, dims),
        values: () => Object.fromEntries(parameters.map((name) => [name, Number(params[name])])),
      });
      return [kernel];
    },
  };
}

/** A binary op with broadcasting: an operator between `a[…]` and `b[…]`. i32 wraps, as WGSL's integers do. */
export function binary(operator: string): KernelDefinition {
  const element = { arguments: ["a", "b"], body: `return a ${operator} b;` };
  return { ...binaryFunction({ f32: (a, b) => `${a} ${operator} ${b}` }), element };
}

/** A binary op with broadcasting: an expression of two elements, and another for i32 where it differs. */
export function binaryFunction(definition: {
  readonly f32: (a: string, b: string) => string;
  readonly i32?: (a: string, b: string) => string;
  /** What the f32 expression calls. */
  readonly declarations?: string;
}): KernelDefinition {
  return {
    build({ inputs: [a, b], output: y }) {
      const expression = y.dtype === "i32" ? (definition.i32 ?? definition.f32) : definition.f32;
      const declarations = definition.declarations === undefined || y.dtype === "i32" ? {} : { declarations: definition.declarations };
      const element = elementOf(y.dtype);
      const bindings = [input("a", 0, element), input("b", 1, element), output("y", element)];
      const total = (dims: DimValues): number => count(y.shape, dims);
      const flat = (spec: TensorSpec): boolean => sameShape(spec.shape, y.shape);
      if (flat(a!) && flat(b!)) {
        return [
          perElement({
            bindings,
            uniforms: {},
            ...declarations,
            body: `y[i] = ${expression("a[i]", "b[i]")};`,
            count: total,
            values: () => ({}),
          }),
        ];
      }
      const axes = y.shape.map((_, axis) => axis);
      const fields = axes.flatMap((axis) => [`d${axis}`, `a${axis}`, `b${axis}`]);
      const steps = axes
        .toReversed()
        .map((axis) => `at = rest % p.d${axis}; rest /= p.d${axis}; ai += at * p.a${axis}; bi += at * p.b${axis};`);
      return [
        perElement({
          bindings,
          uniforms: Object.fromEntries(fields.map((name) => [name, "u32" as const])),
          ...declarations,
          body: `var rest = i; var at = 0u; var ai = 0u; var bi = 0u;\n${steps.join("\n")}\ny[i] = ${expression("a[ai]", "b[bi]")};`,
          count: total,
          values: (dims) => strides(a!.shape, b!.shape, y.shape, dims),
        }),
      ];
    },
  };
}

function strides(a: Shape, b: Shape, y: Shape, dims: DimValues): Record<string, number> {
  const extent = extents(y, dims);
  const ofA = broadcastStrides(extents(a, dims), extent);
  const ofB = broadcastStrides(extents(b, dims), extent);
  return Object.fromEntries(
    extent.flatMap((d, axis) => [
      [`d${axis}`, d],
      [`a${axis}`, ofA[axis]!],
      [`b${axis}`, ofB[axis]!],
    ]),
  );
}
