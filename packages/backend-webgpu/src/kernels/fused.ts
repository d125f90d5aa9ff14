import {
  broadcastStrides,
  type DimValues,
  evaluateBody,
  type FusedCall,
  type FusedParams,
  type GroupResult,
  resultsOf,
  type Shape,
  sameShape,
  siblingsUnsupported,
  specAt,
  type TensorSpec,
} from "@centella/core";
import type { Binding, ElementForm, ElementType, Finish, Kernel, KernelCall, KernelDefinition, Prologue } from "../kernel.ts";
import { elementOf, input, output, specials } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count, extents } from "./shared/shape.ts";
import { type FinishingText, siblingBindings, siblingKernels } from "./shared/siblingProducts.ts";

/** How single ops are computed. */
interface Parts {
  formOf(op: string): ElementForm | undefined;
  definitionOf(op: string): KernelDefinition | undefined;
}

/** Storage buffers that a shader stage may bind on every device. */
const maxBindings = 8;

/**
 * One dispatch for a group of elementwise calls: a lane computes the whole body for its element, nothing between the calls is
 * stored. Parameters are uniforms, so groups that differ in numbers alone share a pipeline. Where the body begins with another op,
 * the rest of it is applied to that op's results before they are stored.
 */
export function fusedKernel({ formOf, definitionOf }: Parts): KernelDefinition<FusedParams> {
  return {
    unsupported({ inputs, params }) {
      const { body } = params;
      const first = body[0]!;
      const last = body.at(-1)!;
      if (formOf(last.op.name) === undefined && definitionOf(last.op.name)?.loads === true) {
        const apart = body.slice(0, -1).find(({ op, output }) => formOf(op.name) === undefined || !isWord(output));
        if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
        if (body.at(-2)?.output.dtype !== "f32" || inputs.some((spec) => !isWord(spec!)))
          return "only f32 and i32 are computed with before a reduction";
        return inputs.length + 1 > maxBindings ? `${inputs.length + 1} tensors in one kernel, which may have ${maxBindings}` : undefined;
      }
      const results = resultsOf(inputs.length, params);
      const isFinished = formOf(first.op.name) === undefined && definitionOf(first.op.name)?.finishes === true;
      const anchors = new Set(isFinished ? results.flatMap((result) => result.anchors) : []);
      const apart = body.find(({ op }, index) => !anchors.has(index) && formOf(op.name) === undefined);
      if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
      const calls = body.filter((_, index) => !anchors.has(index));
      const read = isFinished ? placesRead(calls, inputs.length).map((place) => inputs[place]) : inputs;
      const odd = [...read, ...body.map((call) => call.output)].find((spec) => spec !== undefined && !isWord(spec));
      if (odd !== undefined) return `${odd.dtype} is not computed with in fused groups`;
      if (!isFinished) return results.length > 1 ? "a loop has one result" : undefined;
      if (body.at(-1)!.output.dtype !== "f32") return `${body.at(-1)!.output.dtype} results behind ${first.op.name}`;
      const isSingle = results.length === 1 && anchors.size === 1;
      const reason = isSingle ? undefined : siblingsUnsupported(inputs, params, results);
      if (reason !== undefined) return reason;
      const bindings = isSingle ? first.inputs.length + read.length + 1 : siblingBindings(inputs as readonly TensorSpec[], params, results);
      return bindings > maxBindings ? `${bindings} tensors in one kernel, which may have ${maxBindings}` : undefined;
    },
    build(call) {
      const { inputs, params, output: y } = call;
      const [first] = params.body;
      if (formOf(params.body.at(-1)!.op.name) === undefined && definitionOf(params.body.at(-1)!.op.name)?.loads === true)
        return loaded(call, { formOf, definitionOf });
      const results = resultsOf(inputs.length, params);
      if (results.length > 1 || results[0]!.anchors.length > 1) return siblings(call, results, { formOf, definitionOf });
      if (formOf(first!.op.name) === undefined) return finished(call, first!, results[0]!, { formOf, definitionOf });
      const specs = inputs as readonly TensorSpec[];
      const all = specs.map((_, place) => place);
      const group = expression(specs, all, params.body, y, { formOf, prefix: "" });
      const kernel = perElement({
        bindings: [...group.bindings(0), output("y", elementOf(y.dtype))],
        uniforms: group.uniforms,
        declarations: group.declarations.join("\n"),
        body: [...group.lines, `y[i] = ${group.result};`].join("\n"),
        count: (dims) => count(y.shape, dims),
        values: group.values,
      });
      return [kernel];
    },
  };
}

/** The kernels of a group's first call, whose results the others finish. */
function finished({ inputs, params }: KernelCall<FusedParams>, first: FusedCall, result: GroupResult, parts: Parts): readonly Kernel[] {
  const own = first.inputs.length;
  const text = finishingText(inputs, params, result, { formOf: parts.formOf, prefix: "f_", names: ["result"] });
  const finish: Finish = {
    // The kernel counts its own inputs, then those of the rest.
    bindings: text.bindings.map((binding) => withInput(binding, (place) => own + place)),
    uniforms: text.uniforms,
    declarations: [...text.declarations, `fn finish(i: u32, result: f32) -> f32 {\n${text.body}\n}`],
    values: text.values,
  };
  const call = { inputs: first.inputs.map((place) => inputs[place!]), params: first.params, output: first.output, finish };
  return parts
    .definitionOf(first.op.name)!
    .build(call)
    .map((kernel) => ({
      ...kernel,
      bindings: kernel.bindings.map((binding) => withInput(binding, (index) => (index < own ? first.inputs[index]! : index - own))),
    }));
}

/** Several products of the group's first input. */
function siblings({ inputs, params }: KernelCall<FusedParams>, results: readonly GroupResult[], { formOf }: Parts): readonly Kernel[] {
  return siblingKernels(
    inputs as readonly TensorSpec[],
    params,
    results,
    (result, prefix, names): FinishingText => finishingText(inputs, params, result, { formOf, prefix, names }),
  );
}

/** A binding with another place of its input. */
function withInput(binding: Binding, placeOf: (index: number) => number): Binding {
  const { resource } = binding;
  return resource.kind === "input" ? { ...binding, resource: { ...resource, index: placeOf(resource.index) } } : binding;
}

/** What becomes of the anchors' results, which `names` name, before one is stored at `i`. Bindings name places of the group. */
function finishingText(
  inputs: readonly (TensorSpec | undefined)[],
  params: FusedParams,
  { anchors, finishing }: GroupResult,
  { formOf, prefix, names }: { readonly formOf: Parts["formOf"]; readonly prefix: string; readonly names: readonly string[] },
): FinishingText {
  if (finishing === undefined) return { bindings: [], uniforms: {}, declarations: [], body: `return ${names[0]};`, values: () => ({}) };
  const { places } = finishing;
  const indices = places.map((_, i) => i);
  const isRead = (i: number): boolean => places[i]! < inputs.length;
  const nameOf = (i: number): string => names[anchors.indexOf(places[i]! - inputs.length)]!;
  const known = new Map(indices.filter((i) => !isRead(i)).map((i) => [i, { name: nameOf(i), type: "f32" as const }]));
  const specs = places.map((place) => specAt(inputs, params, place)!);
  const group = expression(specs, indices.filter(isRead), finishing.params.body, finishing.output, { formOf, prefix, known });
  return {
    bindings: group.bindings(0).map((binding) => withInput(binding, (i) => places[i]!)),
    uniforms: group.uniforms,
    declarations: group.declarations,
    body: [...group.lines, `return ${group.result};`].join("\n"),
    values: group.values,
  };
}

/** The kernels of a group's last call, which reads what the others compute. */
function loaded({ inputs, params: { body }, output }: KernelCall<FusedParams>, { formOf, definitionOf }: Parts): readonly Kernel[] {
  const specs = inputs as readonly TensorSpec[];
  const [calls, last] = [body.slice(0, -1), body.at(-1)!];
  const source = calls.at(-1)!.output;
  const group = expression(
    specs,
    specs.map((_, place) => place),
    calls,
    source,
    { formOf, prefix: "s_" },
  );
  const load = `fn load(i: u32) -> f32 {\n${[...group.lines, `return ${group.result};`].join("\n")}\n}`;
  const prologue: Prologue = {
    bindings: group.bindings(0),
    uniforms: group.uniforms,
    declarations: [...group.declarations, load],
    values: group.values,
  };
  return definitionOf(last.op.name)!.build({ inputs: [source], params: last.params, output, prologue });
}

interface Named {
  readonly name: string;
  readonly type: ElementType;
}

/** The text that computes a body for the element `i` of `y`. */
function expression(
  specs: readonly TensorSpec[],
  read: readonly number[],
  body: readonly FusedCall[],
  y: TensorSpec,
  { formOf, prefix, known }: { readonly formOf: Parts["formOf"]; readonly prefix: string; readonly known?: ReadonlyMap<number, Named> },
): {
  bindings(offset: number): readonly Binding[];
  readonly uniforms: Readonly<Record<string, "u32" | "f32">>;
  readonly declarations: readonly string[];
  readonly lines: readonly string[];
  readonly result: string;
  values(dims: DimValues): Record<string, number>;
} {
  const forms = body.map(({ op }) => formOf(op.name)!);
  const places = placesOf(
    read.map((place) => specs[place]!.shape),
    y.shape,
    prefix,
  );
  const functions: string[] = [];
  const lines = read.map((place, i) => `let v${place} = ${prefix}x${place}[${places.indices[i]}];`);
  const uniforms: Record<string, "u32" | "f32"> = { ...places.uniforms };
  const numbers: Record<string, number> = {};
  const named = specs.map((spec, place): Named => known?.get(place) ?? { name: `v${place}`, type: elementOf(spec.dtype) });
  const result = evaluateBody(named, body, (call, used, index) => {
    const form = forms[index]!;
    const type = elementOf(call.output.dtype);
    for (const parameter of form.parameters ?? []) {
      uniforms[`${prefix}c${index}_${parameter}`] = "f32";
      numbers[`${prefix}c${index}_${parameter}`] = Number((call.params as Readonly<Record<string, unknown>>)[parameter]);
    }
    const typed = form.arguments.map((argument, i) => `${argument}: ${used[i]!.type}`);
    functions.push(
      `fn ${prefix}c${index}(${typed.join(", ")}) -> ${type} {\n${form.body.replace(/\bp\.(\w+)/g, `p.${prefix}c${index}_$1`)}\n}`,
    );
    lines.push(`let ${prefix}r${index} = ${prefix}c${index}(${used.map((value) => value!.name).join(", ")});`);
    return { name: `${prefix}r${index}`, type };
  });
  return {
    bindings: (offset) => read.map((place) => input(`${prefix}x${place}`, offset + place, elementOf(specs[place]!.dtype))),
    uniforms,
    declarations: [...new Set([specials, ...forms.flatMap((form) => form.declarations ?? [])]), ...functions],
    lines: [...places.lines, ...lines],
    result: result.name,
    values: (dims) => ({ ...numbers, ...places.values(dims) }),
  };
}

/** Which of a group's inputs calls read. */
function placesRead(calls: readonly FusedCall[], inputs: number): readonly number[] {
  return [...new Set(calls.flatMap((call) => call.inputs))].filter((place) => place !== undefined && place < inputs) as number[];
}

function isWord({ dtype }: TensorSpec): boolean {
  return dtype === "f32" || dtype === "i32";
}

/** How the element `i` of `shape` is found in tensors that broadcast to it; those of one shape share an index. */
function placesOf(
  shapes: readonly Shape[],
  shape: Shape,
  prefix: string,
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
      const steps = stretched.map((_, k) => `at${k} += along * p.${prefix}s${k}_${axis};`);
      return `along = rest % p.${prefix}d${axis}; rest /= p.${prefix}d${axis}; ${steps.join(" ")}`;
    }),
  ];
  const fields = axes.flatMap((axis) => [`${prefix}d${axis}`, ...stretched.map((_, k) => `${prefix}s${k}_${axis}`)]);
  return {
    lines,
    indices,
    uniforms: Object.fromEntries(fields.map((name) => [name, "u32" as const])),
    values(dims) {
      const all = extents(shape, dims);
      const strides = stretched.map((from) => broadcastStrides(extents(from, dims), all));
      return Object.fromEntries(
        axes.flatMap((axis) => [
          [`${prefix}d${axis}`, all[axis]!],
          ...strides.map((stride, k) => [`${prefix}s${k}_${axis}`, stride[axis]!] as const),
        ]),
      );
    },
  };
}
