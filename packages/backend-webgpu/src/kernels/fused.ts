import { broadcastStrides, type DimValues, evaluateBody, type FusedParams, type Shape, sameShape, type TensorSpec } from "@centella/core";
import type { ElementForm, KernelDefinition } from "../kernel.ts";
import { elementOf, input, output, specials } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count, extents } from "./shared/shape.ts";

/**
 * One dispatch for a group of elementwise calls: a lane computes the whole body for its element, nothing between the calls is
 * stored. Parameters are uniforms, so groups that differ in numbers alone share a pipeline.
 */
export function fusedKernel(formOf: (op: string) => ElementForm | undefined): KernelDefinition<FusedParams> {
  return {
    unsupported({ inputs, params: { body } }) {
      const apart = body.find(({ op }) => formOf(op.name) === undefined);
      if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
      const odd = [...inputs, ...body.map((call) => call.output)].find((spec) => spec !== undefined && !isWord(spec));
      return odd && `${odd.dtype} is not computed with in fused groups`;
    },
    build({ inputs, params: { body }, output: y }) {
      const specs = inputs as readonly TensorSpec[];
      const forms = body.map(({ op }) => formOf(op.name)!);
      const places = placesOf(
        specs.map(({ shape }) => shape),
        y.shape,
      );
      const functions: string[] = [];
      const lines = specs.map((_, i) => `let v${i} = x${i}[${places.indices[i]}];`);
      const uniforms: Record<string, "u32" | "f32"> = { ...places.uniforms };
      const numbers: Record<string, number> = {};
      const named = specs.map((spec, i) => ({ name: `v${i}`, type: elementOf(spec.dtype) }));
      const result = evaluateBody(named, body, (call, used, index) => {
        const form = forms[index]!;
        const type = elementOf(call.output.dtype);
        for (const parameter of form.parameters ?? []) {
          uniforms[`c${index}_${parameter}`] = "f32";
          numbers[`c${index}_${parameter}`] = Number((call.params as Readonly<Record<string, unknown>>)[parameter]);
        }
        const typed = form.arguments.map((argument, i) => `${argument}: ${used[i]!.type}`);
        functions.push(`fn c${index}(${typed.join(", ")}) -> ${type} {\n${form.body.replace(/\bp\.(\w+)/g, `p.c${index}_$1`)}\n}`);
        lines.push(`let r${index} = c${index}(${used.map((value) => value!.name).join(", ")});`);
        return { name: `r${index}`, type };
      });
      const declarations = new Set([specials, ...forms.flatMap((form) => form.declarations ?? [])]);
      const kernel = perElement({
        bindings: [...specs.map((spec, i) => input(`x${i}`, i, elementOf(spec.dtype))), output("y", elementOf(y.dtype))],
        uniforms,
        declarations: [...declarations, ...functions].join("\n"),
        body: [...places.lines, ...lines, `y[i] = ${result.name};`].join("\n"),
        count: (dims) => count(y.shape, dims),
        values: (dims) => ({ ...numbers, ...places.values(dims) }),
      });
      return [kernel];
    },
  };
}

function isWord({ dtype }: TensorSpec): boolean {
  return dtype === "f32" || dtype === "i32";
}

/** How the element `i` of `shape` is found in tensors that broadcast to it; those of one shape share an index. */
function placesOf(
  shapes: readonly Shape[],
  shape: Shape,
): {
  readonly lines: readonly string[];
  readonly indices: readonly string[];
  readonly uniforms: Readonly<Record<string, "u32">>;
  values(dims: DimValues): Record<string, number>;
} {
  const stretched: Shape[] = [];
  const indices = shapes.map((from) => {
    if (sameShape(from, shape)) return "i";
    if (from.every((dim) => dim === 1)) return "0u";
    const known = stretched.findIndex((other) => sameShape(from, other));
    return `at${known < 0 ? stretched.push(from) - 1 : known}`;
  });
  if (stretched.length === 0) return { lines: [], indices, uniforms: {}, values: () => ({}) };
  const axes = shape.map((_, axis) => axis);
  const lines = [
    "var rest = i; var along = 0u;",
    ...stretched.map((_, k) => `var at${k} = 0u;`),
    ...axes.toReversed().map((axis) => {
      const steps = stretched.map((_, k) => `at${k} += along * p.s${k}_${axis};`);
      return `along = rest % p.d${axis}; rest /= p.d${axis}; ${steps.join(" ")}`;
    }),
  ];
  const fields = axes.flatMap((axis) => [`d${axis}`, ...stretched.map((_, k) => `s${k}_${axis}`)]);
  return {
    lines,
    indices,
    uniforms: Object.fromEntries(fields.map((name) => [name, "u32" as const])),
    values(dims) {
      const all = extents(shape, dims);
      const strides = stretched.map((from) => broadcastStrides(extents(from, dims), all));
      return Object.fromEntries(
        axes.flatMap((axis) => [[`d${axis}`, all[axis]!], ...strides.map((stride, k) => [`s${k}_${axis}`, stride[axis]!] as const)]),
      );
    },
  };
}
