import type { OpName, TensorSpec } from "@centella/core";
import {
  type AnchoredGroup,
  type AnyOp,
  anchoredGroup,
  type ElementwiseGroup,
  elementAt,
  evaluateBody,
  type FusedCall,
  type FusedParams,
  type GroupResult,
  lastOf,
  type NormedProducts,
  normedProducts,
  resultsOf,
  siblingsUnsupported,
  specAt,
} from "@centella/core/backend";
import { isHalf } from "@centella/quant";
import { cacheWriteStep, cacheWriteUnsupported, isCacheWrite } from "./cacheWrite.ts";
import type { F32, I32, U32 } from "./emitter.ts";
import { gpuKernels } from "./gpuKernels.ts";
import type { Epilogue, Fusable, GpuArguments, GpuElement, GpuScope, GpuStep, Prologue } from "./kernel.ts";
import { bitsOfFloat } from "./shared/dtypes.ts";
import { broadcastIndices, computeElement, loadElement, numberOf } from "./shared/elementwise.ts";
import { type GroupPlaces, type Siblings, siblingsOf } from "./siblings.ts";

type Inputs = readonly (TensorSpec | undefined)[];

/** A fused group as kernels see it. */
export type Group =
  /** Elementwise calls only, computed as one step. */
  | { readonly kind: "elementwise"; readonly step: GpuStep }
  /** A `kvWrite` with the `rope` of its keys, and of queries: one step. */
  | { readonly kind: "cacheWrite"; readonly step: GpuStep }
  | ({ readonly kind: "anchored" } & AnchoredCall)
  | ({ readonly kind: "siblings" } & Siblings)
  /** A norm and the products of its result; see {@link NormedSiblings}. */
  | ({ readonly kind: "normed" } & NormedSiblings);

/** A call that is not elementwise, with elementwise calls after or before it. */
export interface AnchoredCall {
  readonly op: AnyOp;
  readonly params: object;
  readonly inputs: Inputs;
  readonly output: TensorSpec;
  readonly epilogue?: Epilogue;
  readonly prologue?: Prologue;
  /** Group input that is input `index` of the call. Inputs that only the elementwise calls read follow the call's own. */
  readonly inputOf: (index: number) => number;
}

/** An `rmsNorm`, with elementwise calls before it or not, and products that read its result in place of an input of the group. */
export interface NormedSiblings {
  readonly norm: AnchoredCall;
  readonly siblings: Siblings;
}

/** Returns the parts of a supported group. */
export function groupOf(inputs: Inputs, params: FusedParams): Group {
  const normed = normedProducts(inputs.length, params);
  if (normed !== undefined) return { kind: "normed", ...normedSiblings(inputs, normed) };
  const results = resultsOf(inputs.length, params);
  if (isElementwise(params)) return { kind: "elementwise", step: loopOf(inputs, elementAt(results, 0)) };
  if (isCacheWrite(params)) return { kind: "cacheWrite", step: cacheWriteStep(inputs, params) };
  const anchored = anchoredGroup(inputs.length, params);
  if (!("unsupported" in anchored)) return { kind: "anchored", ...anchoredCall(inputs, params, anchored) };
  return { kind: "siblings", ...siblingGroup(inputs, params, { inputOf: (place) => place, firstOutput: 0 }) };
}

function siblingGroup(inputs: Inputs, params: FusedParams, places: GroupPlaces): Siblings {
  const finished = resultsOf(inputs.length, params).map((result, i) => {
    const anchors = result.anchors.map((call) => inputs.length + call);
    return { ...result, epilogue: epilogueOf(inputs, result.elementwise, anchors, { prefix: `r${i}_`, argumentIndex: places.inputOf }) };
  });
  return siblingsOf(inputs, params, finished, places);
}

function normedSiblings(inputs: Inputs, { norm, products }: NormedProducts): NormedSiblings {
  const group = anchoredGroup(inputs.length, norm);
  const call = "unsupported" in group ? plainCall(inputs, elementAt(norm.body, 0)) : anchoredCall(inputs, norm, group);
  const places = { inputOf: (place: number) => place - 1, firstOutput: norm.extraOutputs?.length ?? 0 };
  return { norm: call, siblings: siblingGroup([call.output, ...inputs], products, places) };
}

/** A call without elementwise calls around it. */
function plainCall(inputs: Inputs, { op, inputs: places, params, output }: FusedCall): AnchoredCall {
  const specs = places.map((place) => (place === undefined ? undefined : inputs[place]));
  return { op, params, inputs: specs, output, inputOf: (at) => elementAt(places, at) ?? at };
}

/** The reason why a group has no kernel; undefined if it has one. `fusable` says how groups may use an op's kernel. */
export function groupUnsupported(inputs: Inputs, params: FusedParams, fusable: (op: string) => Fusable | undefined): string | undefined {
  const results = resultsOf(inputs.length, params);
  if (isElementwise(params))
    return results.length > 1 ? "a loop has one result" : elementsUnsupported(inputs, params, elementAt(results, 0).elementwise);
  if (isCacheWrite(params)) return cacheWriteUnsupported(inputs, params);
  const normed = normedProducts(inputs.length, params);
  if (normed !== undefined) return normedUnsupported(inputs, normed, fusable);
  const anchored = anchoredGroup(inputs.length, params);
  if (!("unsupported" in anchored)) {
    const { call, isLast, elementwise: group } = anchored;
    const { op, output } = elementAt(params.body, call);
    const uses = fusable(op.name);
    if ((isLast ? uses?.prologue : uses?.epilogue) === undefined) return `${op.name} cannot be fused here`;
    if (group.output.dtype !== "f32" || output.dtype !== "f32") return `prologues and epilogues of ${op.name} are f32 here`;
    return elementsUnsupported(inputs, params, group);
  }
  // Only products can be several in a group.
  return results.flatMap(({ anchors }) => anchors).length === 1 ? anchored.unsupported : productsUnsupported(inputs, params);
}

function productsUnsupported(inputs: Inputs, params: FusedParams): string | undefined {
  const results = resultsOf(inputs.length, params);
  for (const { elementwise } of results) {
    const reason = elementsUnsupported(inputs, params, elementwise);
    if (reason !== undefined) return reason;
  }
  return siblingsUnsupported(inputs, params, results);
}

function normedUnsupported(
  inputs: Inputs,
  { norm, products }: NormedProducts,
  fusable: (op: string) => Fusable | undefined,
): string | undefined {
  const { output } = lastOf(norm.body);
  const reason = norm.body.length === 1 ? undefined : groupUnsupported(inputs, norm, fusable);
  return reason ?? productsUnsupported([output, ...inputs], products);
}

function isElementwise({ body }: FusedParams): boolean {
  return body.every(({ op }) => op.elementwise === true);
}

function elementsUnsupported(inputs: Inputs, group: FusedParams, elements: ElementwiseGroup | undefined): string | undefined {
  if (elements === undefined) return undefined;
  const { places, params } = elements;
  const specs = places.map((place) => specAt(inputs, group, place));
  for (const { op, inputs: used, output } of params.body) {
    const element = elementOf(op);
    if (element === undefined) return `${op.name} cannot be fused here`;
    const { dtypes = ["f32", "i32"] } = element;
    const own = [...used.map((place) => (place === undefined ? undefined : specAt(specs, params, place))), output];
    const odd = own.find((spec) => spec !== undefined && !dtypes.includes(spec.dtype));
    if (odd !== undefined) return `${odd.dtype} is not computed with in fused groups`;
  }
  return undefined;
}

function elementOf(op: AnyOp): GpuElement | undefined {
  return Object.hasOwn(gpuKernels, op.name) ? gpuKernels[op.name as OpName]?.element : undefined;
}

/** Elementwise calls as one step: a lane computes the whole body for its element, intermediate results are not stored. */
function loopOf(inputs: Inputs, { elementwise }: GroupResult): GpuStep {
  if (elementwise === undefined) throw new TypeError("fused: expected elementwise calls, got none; this is a bug, please report it");
  const { shape, dtype } = elementwise.output;
  const { args, apply } = elementsOf(inputs, elementwise, [], { prefix: "", argumentIndex: (place) => place });
  return {
    kind: "map",
    name: "",
    args: { ...args, y: { kind: "output", dtype } },
    shape,
    to: "y",
    isElementwise: true,
    body: (scope, index) => {
      const value = apply(scope, index, []);
      return isHalf(dtype) ? bitsOfFloat(scope.k, dtype, value as F32) : value;
    },
  };
}

function anchoredCall(
  inputs: Inputs,
  params: FusedParams,
  { call: index, isLast, isKept, elementwise: group }: AnchoredGroup,
): AnchoredCall {
  const { op, inputs: places, params: own, output } = elementAt(params.body, index);
  const argumentIndex = (place: number): number => places.length + place;
  const anchors = isLast ? [] : [inputs.length + index];
  const { args, apply } = elementsOf(inputs, group, anchors, { prefix: "", argumentIndex });
  const kept: GpuArguments = isKept ? { kept: { kind: "extraOutput", index: 0, dtype: "f32" } } : {};
  return {
    op,
    params: own,
    inputs: places.map((place) => (place === undefined ? undefined : specAt(inputs, params, place))),
    output,
    // Prologues and epilogues compute in f32.
    ...(isLast
      ? { prologue: { args: { ...args, ...kept }, apply: (scope, at) => apply(scope, at, []) as F32 } }
      : { epilogue: { args, apply: (scope, at, values) => apply(scope, at, values) as F32 } }),
    inputOf: (at) => places[at] ?? at - places.length,
  };
}

function epilogueOf(inputs: Inputs, group: ElementwiseGroup | undefined, anchors: readonly number[], names: ArgumentNames): Epilogue {
  if (group === undefined) return { args: {}, apply: (_scope, _index, results) => elementAt(results, 0) };
  const { args, apply } = elementsOf(inputs, group, anchors, names);
  return { args, apply: (scope, index, results) => apply(scope, index, results) as F32 };
}

/** How the arguments of elementwise calls are called, and which inputs of the call they are. */
interface ArgumentNames {
  readonly prefix: string;
  readonly argumentIndex: (place: number) => number;
}

/** Values of a group of elementwise calls at one element, given the values at the places `anchors`. */
function elementsOf(
  inputs: Inputs,
  { places, params, output }: ElementwiseGroup,
  anchors: readonly number[],
  { prefix, argumentIndex }: ArgumentNames,
): { readonly args: GpuArguments; apply(scope: GpuScope, index: U32, values: readonly F32[]): F32 | I32 } {
  const read = places.flatMap((place) => {
    const spec = inputs[place];
    return spec === undefined ? [] : [{ place, spec, name: `${prefix}x${place}` }];
  });
  return {
    args: Object.fromEntries(
      read.map(({ place, spec, name }) => [name, { kind: "input", index: argumentIndex(place), dtype: spec.dtype } as const]),
    ),
    apply(scope, index, values) {
      const { k } = scope;
      const indices = broadcastIndices(
        scope,
        output.shape,
        read.map(({ spec }) => spec.shape),
        index,
      );
      const loaded = new Map(read.map(({ place, spec, name }, i) => [place, loadElement(k, spec.dtype, name, elementAt(indices, i))]));
      const known = places.map((place) => loaded.get(place) ?? elementAt(values, anchors.indexOf(place)));
      return evaluateBody(known, params.body, ({ op, params: own, output: { dtype } }, used, call) => {
        const element = elementOf(op);
        if (element === undefined)
          throw new TypeError(`fused: expected an elementwise op, got ${op.name}; this is a bug, please report it`);
        return computeElement(k, element, dtype, used as readonly (F32 | I32)[], (name) =>
          scope.number(`${prefix}${name}${call}`, numberOf(own, name)),
        );
      });
    },
  };
}
