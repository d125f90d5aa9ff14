import {
  broadcastStrides,
  type DimValues,
  evaluateBody,
  type FinishingGroup,
  type FusedCall,
  type FusedParams,
  type GroupResult,
  resultsOf,
  type Shape,
  type SurroundedCall,
  sameShape,
  siblingsUnsupported,
  specAt,
  surroundedCall,
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
 * stored. Parameters are uniforms, so groups that differ in numbers alone share a pipeline. Where another op is in the body, what is
 * behind it is applied to its results before they are stored, and what is before it to the elements that it reads.
 */
export function fusedKernel(parts: Parts): KernelDefinition<FusedParams> {
  const { formOf } = parts;
  return {
    unsupported({ inputs, params }) {
      const { body } = params;
      const around = surroundedCall(inputs.length, params);
      if (typeof around === "object") return surroundedUnsupported(inputs, params, around, parts);
      const results = resultsOf(inputs.length, params);
      const anchors = new Set(results.flatMap((result) => result.anchors));
      const calls = body.filter((_, index) => !anchors.has(index));
      const read = placesRead(calls, inputs.length).map((place) => inputs[place]!);
      const reason = elementwiseUnsupported(read, calls, parts);
      if (reason !== undefined) return reason;
      if (anchors.size === 0) return results.length > 1 ? "a loop has one result" : undefined;
      if (anchors.size === 1) return around;
      const unlike = siblingsUnsupported(inputs, params, results);
      return unlike ?? tooMany(siblingBindings(inputs as readonly TensorSpec[], params, results));
    },
    build(call) {
      const { inputs, params, output: y } = call;
      const around = surroundedCall(inputs.length, params);
      if (typeof around === "object") return surrounded(call, around, parts);
      const results = resultsOf(inputs.length, params);
      if (results.some(({ anchors }) => anchors.length > 0)) return siblings(call, results, parts);
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

function elementwiseUnsupported(read: readonly TensorSpec[], calls: readonly FusedCall[], { formOf }: Parts): string | undefined {
  const apart = calls.find(({ op }) => formOf(op.name) === undefined);
  if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
  const odd = [...read, ...calls.map((call) => call.output)].find((spec) => !isWord(spec));
  return odd && `${odd.dtype} is not computed with in fused groups`;
}

function surroundedUnsupported(
  inputs: readonly (TensorSpec | undefined)[],
  params: FusedParams,
  { call, isLast, isKept, elementwise: group }: SurroundedCall,
  parts: Parts,
): string | undefined {
  const { op, inputs: places, output: result } = params.body[call]!;
  const definition = parts.definitionOf(op.name);
  if (isLast ? definition?.reads === undefined : definition?.finishes !== true) return `${op.name} is no function of single elements here`;
  if (group.output.dtype !== "f32" || result.dtype !== "f32") return `only f32 is computed with around ${op.name}`;
  const read = group.places.filter((place) => place < inputs.length);
  const specs = read.map((place) => inputs[place]!);
  const own = isLast ? places.length - 1 : places.length;
  return elementwiseUnsupported(specs, group.params.body, parts) ?? tooMany(own + read.length + (isKept ? 2 : 1));
}

function tooMany(bindings: number): string | undefined {
  return bindings > maxBindings ? `${bindings} tensors in one kernel, which may have ${maxBindings}` : undefined;
}

/** The kernels of a group's one call that is not elementwise, with the others before or behind it. */
function surrounded(
  { inputs, params }: KernelCall<FusedParams>,
  { call: index, isLast, isKept, elementwise: group }: SurroundedCall,
  parts: Parts,
): readonly Kernel[] {
  const { op, inputs: places, params: own, output: result } = params.body[index]!;
  const definition = parts.definitionOf(op.name)!;
  // The kernel counts its own inputs, then those of the group.
  const behind = (binding: Binding): Binding => withInput(binding, (place) => places.length + place);
  const around = isLast
    ? { prologue: prologueOf(inputs, group, { reads: definition.reads!, isKept }, { formOf: parts.formOf, behind }) }
    : { finish: finishOf(inputs, params, { formOf: parts.formOf, behind }) };
  const specs = places.map((place) => specAt(inputs, params, place!));
  const placeOf = (at: number): number => (at < places.length ? places[at]! : at - places.length);
  return definition.build({ inputs: specs, params: own, output: result, ...around }).map((kernel) => ({
    ...kernel,
    bindings: kernel.bindings.map((binding) => withInput(binding, placeOf)),
  }));
}

/** How elementwise calls around another one are written; `behind` names the inputs that they read as the other one's kernel counts them. */
interface Around {
  readonly formOf: Parts["formOf"];
  readonly behind: (binding: Binding) => Binding;
}

function finishOf(inputs: readonly (TensorSpec | undefined)[], params: FusedParams, { formOf, behind }: Around): Finish {
  const [result] = resultsOf(inputs.length, params);
  const { bindings, uniforms, declarations, body, values } = finishingText(inputs, params, result!, {
    formOf,
    prefix: "f_",
    names: ["result"],
  });
  const finish = `fn finish(i: u32, result: f32) -> f32 {\n${body}\n}`;
  return { bindings: bindings.map(behind), uniforms, declarations: [...declarations, finish], values };
}

/** What is read again is kept: where it is a result as well, or in the place of the op's own result until that is stored. */
function prologueOf(
  inputs: readonly (TensorSpec | undefined)[],
  { places, params: { body }, output: made }: FinishingGroup,
  { reads, isKept }: { readonly reads: "once" | "again"; readonly isKept: boolean },
  { formOf, behind }: Around,
): Prologue {
  const specs = places.map((place) => inputs[place]!);
  const indices = specs.map((_, i) => i);
  const group = expression(specs, indices, body, made, { formOf, prefix: "s_" });
  const kept = isKept ? "kept" : reads === "again" ? "y" : undefined;
  const other: Binding = { name: "kept", resource: { kind: "other", index: 0 }, access: "read_write", element: "f32" };
  const keep = kept === undefined ? "" : `${kept}[i] = ${group.result};`;
  const load = `fn load(i: u32) -> f32 {\n${[...group.lines, keep, `return ${group.result};`].filter((line) => line !== "").join("\n")}\n}`;
  const again = reads === "again" ? [`fn again(i: u32) -> f32 { return ${kept}[i]; }`] : [];
  const read = group.bindings(0).map((binding) => behind(withInput(binding, (i) => places[i]!)));
  return {
    bindings: [...read, ...(isKept ? [other] : [])],
    uniforms: group.uniforms,
    declarations: [...group.declarations, load, ...again],
    values: group.values,
  };
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
