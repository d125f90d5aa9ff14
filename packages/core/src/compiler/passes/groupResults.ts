import { elementAt, lastOf } from "@centella/quant/checks";
import type { MatmulParams } from "../../ops/matmul.ts";
import { matmul } from "../../ops/matmul.ts";
import { isConcrete, sameShape, type TensorSpec } from "../../spec.ts";
import type { FusedCall, FusedParams } from "./fused.ts";

/** A result of a fused group, and the calls that compute it. */
export interface GroupResult {
  /** Index in the body of the call that returns it. */
  readonly call: number;
  /** Indices of all calls that it depends on, itself included, ascending. */
  readonly calls: readonly number[];
  /** The calls that are not elementwise, such as products. */
  readonly anchors: readonly number[];
  /** The elementwise calls as a group of their own. */
  readonly elementwise: ElementwiseGroup | undefined;
}

/** The elementwise calls after a result's anchors. */
export interface ElementwiseGroup {
  readonly params: FusedParams;
  /** Places of the whole group that it reads: inputs, and results of anchors. */
  readonly places: readonly number[];
  readonly output: TensorSpec;
}

/** The results of a group of `count` inputs, in the order in which they are stored: `extraOutputs`, then the last call's. */
export function resultsOf(count: number, { body, extraOutputs = [] }: FusedParams): readonly GroupResult[] {
  return [...extraOutputs, body.length - 1].map((call): GroupResult => {
    const needed = new Set<number>();
    const left = [call];
    for (let index = left.pop(); index !== undefined; index = left.pop()) {
      if (needed.has(index)) continue;
      needed.add(index);
      for (const place of elementAt(body, index).inputs) if (place !== undefined && place >= count) left.push(place - count);
    }
    const calls = [...needed].sort((a, b) => a - b);
    const isElementwise = (index: number): boolean => elementAt(body, index).op.elementwise === true;
    const rest = calls.filter(isElementwise);
    const anchors = calls.filter((index) => !isElementwise(index));
    return { call, calls, anchors, elementwise: rest.length === 0 ? undefined : elementwiseOf(count, body, rest) };
  });
}

/** One call that is not elementwise, with a prologue that computes its first tensor or an epilogue of its result. */
export interface AnchoredGroup {
  /** Its index in the body. */
  readonly call: number;
  /** Whether the elementwise calls are a prologue: they run before it. */
  readonly isLast: boolean;
  readonly elementwise: ElementwiseGroup;
  /** Whether the prologue's result is a result of the group, too. */
  readonly isKept: boolean;
}

/** The reason why something is not supported. */
export interface Refusal {
  readonly unsupported: string;
}

/** A group of `count` inputs as one call with elementwise calls before or after it, or the reason why it is no such group. */
export function anchoredGroup(count: number, { body, extraOutputs = [] }: FusedParams): AnchoredGroup | Refusal {
  const [anchor, another] = [...body.entries()].filter(([, { op }]) => op.elementwise !== true);
  if (anchor === undefined) return { unsupported: "functions of single elements alone" };
  if (another !== undefined) return { unsupported: "more than one call that is not elementwise" };
  const [call, { op, inputs }] = anchor;
  if (inputs.includes(undefined)) return { unsupported: `${op.name} without an optional tensor` };
  const isLast = call === body.length - 1;
  if (!isLast && call > 0) return { unsupported: `${op.name} between other calls` };
  const [first, ...more] = inputs;
  const source = isLast ? count + call - 1 : first;
  if (first !== source || [...(isLast ? [] : [first]), ...more].some((place = count) => place >= count))
    return { unsupported: `${op.name} of several calls` };
  const isKept = isLast && extraOutputs.length === 1 && extraOutputs[0] === call - 1;
  if (extraOutputs.length > 0 && !isKept) return { unsupported: "several results" };
  const elementwise = body.flatMap((_, index) => (index === call ? [] : [index]));
  return { call, isLast, elementwise: elementwiseOf(count, body, elementwise), isKept };
}

/** The spec that a place of a group has: an input's, or the result's of a call. */
export function specAt<S extends TensorSpec | undefined>(inputs: readonly S[], { body }: FusedParams, place: number): S | TensorSpec {
  return place < inputs.length ? (inputs[place] as S) : elementAt(body, place - inputs.length).output;
}

/**
 * The reason why kernels of sibling products cannot compute a group; undefined if they can. They compute products of the group's first
 * input with matrices `[n, k]`, each of which goes into one f32 result of its own shape.
 */
export function siblingsUnsupported(
  inputs: readonly (TensorSpec | undefined)[],
  { body }: FusedParams,
  results: readonly GroupResult[],
): string | undefined {
  if (results.reduce((sum, { calls }) => sum + calls.length, 0) > body.length) return "results share calls";
  for (const { anchors, call } of results) {
    const { dtype, shape } = elementAt(body, call).output;
    if (dtype !== "f32") return `${dtype} results after a product`;
    for (const index of anchors) {
      const { op, inputs: places, params, output } = elementAt(body, index);
      if (op !== matmul) return `${op.name} is no product`;
      const [a, b = 0] = places;
      if (a !== 0 || b === 0 || b >= inputs.length) return "products of several tensors";
      const { transposeA, transposeB } = params as MatmulParams;
      if (transposeA || !transposeB) return "weights whose rows are not contiguous";
      const matrix = inputs[b];
      if (matrix?.shape.length !== 2 || !isConcrete(matrix)) return "batches of matrices, or matrices of unknown size";
      if (!sameShape(output.shape, shape)) return "products of another shape than their epilogue";
    }
  }
  return undefined;
}

function elementwiseOf(count: number, body: readonly FusedCall[], calls: readonly number[]): ElementwiseGroup {
  const own = new Set(calls.map((index) => count + index));
  const read = calls.flatMap((index) => elementAt(body, index).inputs).filter((place) => place !== undefined && !own.has(place));
  const places = [...new Set(read)] as number[];
  const renamed = new Map([...places, ...own].map((place, i) => [place, i]));
  const moved = calls.map((index): FusedCall => {
    const call = elementAt(body, index);
    return { ...call, inputs: call.inputs.map((place) => (place === undefined ? undefined : renamed.get(place))) };
  });
  return { params: { body: moved }, places, output: elementAt(body, lastOf(calls)).output };
}
