import {
  evaluateBody,
  type FinishingGroup,
  type FusedParams,
  type GroupResult,
  resultsOf,
  type SurroundedCall,
  siblingsUnsupported,
  specAt,
  surroundedCall,
  type TensorSpec,
} from "@centella/core";
import type { F32, S32, U32 } from "../ptx/types.ts";
import { siblingLaunches } from "./matmul.ts";
import { broadcastIndices } from "./shared/binary.ts";
import { type Argument, elementwise, input, type Kernel, type KernelCall, type Launch, output, type Scope } from "./shared/kernel.ts";
import type { Finishing } from "./shared/siblingProducts.ts";

type Value = F32 | S32;
type KernelNamed = (op: string) => Kernel | undefined;

/** Calls behind another one: each thread of a product has 16 results, and the text repeats for each. */
const maxFinishing = 16;

/**
 * One launch for a group of elementwise calls: a thread computes the whole body for its element in registers. Where products or another
 * call are in the group, what is behind them is applied to their results before these are stored, and what is before a call to the
 * elements that it reads.
 */
export function fusedKernel(kernelNamed: KernelNamed): Kernel<FusedParams> {
  return {
    unsupported(inputs, params) {
      const results = resultsOf(inputs.length, params);
      const form = formOf(inputs.length, params);
      if (form === "elementwise" && results.length > 1) return "a loop has one result";
      if (typeof form === "object") return surroundedUnsupported(inputs, params, form, kernelNamed);
      for (const { anchors, finishing } of results) {
        const reason = finishing && elementwiseUnsupported(inputs, params, finishing, kernelNamed);
        if (reason !== undefined) return reason;
        if (anchors.length > 0 && (finishing?.params.body.length ?? 0) > maxFinishing) return tooLong;
      }
      return form === "elementwise" ? undefined : siblingsUnsupported(inputs, params, results);
    },
    launches(call, params) {
      const results = resultsOf(call.inputs.length, params);
      const form = formOf(call.inputs.length, params);
      if (typeof form === "object") return surroundedLaunches(call, params, form, kernelNamed);
      if (form === "siblings") return siblingLaunches(call, params, results, (result) => finishingOf(call, result, kernelNamed));
      const { args, apply } = finishingOf(call, results[0]!, kernelNamed);
      const { shape, dtype } = call.output;
      return [
        elementwise(call, "fused", { shape, args: { ...args, y: output } }, (scope, index) => {
          const { k, pointer } = scope;
          const value = apply(scope, index, []);
          if (dtype === "i32") k.store("s32", k.at("s32", pointer("y", "s32"), index), value as S32);
          else k.store("f32", k.at("f32", pointer("y", "f32"), index), value as F32);
        }),
      ];
    },
  };
}

const tooLong = `more than ${maxFinishing} calls behind another one`;

/** Elementwise calls alone, around one other call, or products of one tensor with what finishes them. */
function formOf(count: number, params: FusedParams): "elementwise" | SurroundedCall | "siblings" {
  if (params.body.every(({ op }) => op.elementwise === true)) return "elementwise";
  const around = surroundedCall(count, params);
  return typeof around === "string" ? "siblings" : around;
}

function elementwiseUnsupported(
  inputs: readonly (TensorSpec | undefined)[],
  group: FusedParams,
  { places, params: { body } }: FinishingGroup,
  kernelNamed: KernelNamed,
): string | undefined {
  const unknown = body.find(({ op }) => kernelNamed(op.name)?.element === undefined);
  if (unknown !== undefined) return `${unknown.op.name} is no function of single elements here`;
  const specs = [...places.map((place) => specAt(inputs, group, place)), ...body.map((call) => call.output)];
  const odd = specs.find((spec) => spec !== undefined && spec.dtype !== "f32" && spec.dtype !== "i32");
  return odd && `${odd.dtype} is not computed with in fused groups`;
}

function surroundedUnsupported(
  inputs: readonly (TensorSpec | undefined)[],
  params: FusedParams,
  { call, isLast, elementwise: group }: SurroundedCall,
  kernelNamed: KernelNamed,
): string | undefined {
  const { op, output: result } = params.body[call]!;
  const kernel = kernelNamed(op.name);
  if (isLast ? kernel?.reads === undefined : kernel?.finishes !== true) return `${op.name} is no function of single elements here`;
  if (group.output.dtype !== "f32" || result.dtype !== "f32") return `only f32 is computed with around ${op.name}`;
  if (!isLast && group.params.body.length > maxFinishing) return tooLong;
  return elementwiseUnsupported(inputs, params, group, kernelNamed);
}

/** The launches of a group's one call that is not elementwise, with the others before or behind it. */
function surroundedLaunches(
  call: KernelCall,
  params: FusedParams,
  { call: index, isLast, elementwise: group, isKept }: SurroundedCall,
  kernelNamed: KernelNamed,
): readonly Launch[] {
  const { op, inputs: places, params: own, output: result } = params.body[index]!;
  const kernel = kernelNamed(op.name)!;
  // The kernel counts its own inputs, then those of the group.
  const argumentOf = (place: number): Argument => input(places.length + place);
  const anchors = [call.inputs.length + index];
  const { args, apply } = elementsOf(call, group, kernelNamed, { anchors, argumentOf });
  const other: Argument = { kind: "other", index: 0 };
  const kept = isKept ? other : kernel.reads === "again" ? output : undefined;
  const around: Partial<KernelCall> = isLast
    ? { source: { args, apply: (scope, at) => apply(scope, at, []) as F32, ...(kept && { kept }) } }
    : { finish: { args, apply: (scope, at, value) => apply(scope, at, [value]) as F32 } };
  const inputs = places.map((place) => specAt(call.inputs, params, place!));
  const renamed = (argument: Argument): Argument => {
    if (argument.kind !== "input") return argument;
    return input(argument.index < places.length ? places[argument.index]! : argument.index - places.length);
  };
  return kernel
    .launches({ ...call, inputs, output: result, ...around }, own)
    .map((launch) => ({ ...launch, args: launch.args.map(renamed) }));
}

/** What becomes of the anchors' results before one is stored, and the memory that this reads. */
function finishingOf(call: KernelCall, { anchors, finishing: group }: GroupResult, kernelNamed: KernelNamed): Finishing {
  if (group === undefined) return { args: {}, apply: (_scope, _index, values) => values[0]! };
  return elementsOf(call, group, kernelNamed, { anchors: anchors.map((index) => call.inputs.length + index), argumentOf: input });
}

/** A group of elementwise calls at an element, given the values at the places `anchors`. */
function elementsOf(
  { inputs }: KernelCall,
  { places, params, output: made }: FinishingGroup,
  kernelNamed: KernelNamed,
  { anchors, argumentOf }: { readonly anchors: readonly number[]; readonly argumentOf: (place: number) => Argument },
): Finishing {
  const read = places.filter((place) => place < inputs.length);
  return {
    args: Object.fromEntries(read.map((place) => [`x${place}`, argumentOf(place)])),
    apply(scope, index, values) {
      const specs = read.map((place) => inputs[place]!);
      const shapes = specs.map((spec) => spec.shape);
      const at = broadcastIndices(scope, made.shape, shapes, index);
      const loaded = new Map(read.map((place, i) => [place, load(scope, specs[i]!, `x${place}`, at[i]!)]));
      const known = places.map((place): Value => loaded.get(place) ?? values[anchors.indexOf(place)]!);
      return evaluateBody(known, params.body, ({ op, params: own, output: result }, used) =>
        kernelNamed(op.name)!.element!(scope.k, used as readonly Value[], own, result.dtype),
      );
    },
  };
}

function load({ k, pointer }: Scope, { dtype }: TensorSpec, name: string, at: U32 | number): Value {
  return dtype === "i32" ? k.load("s32", k.at("s32", pointer(name, "s32"), at)) : k.load("f32", k.at("f32", pointer(name, "f32"), at));
}
