import { elementAt, entryOf, lastOf } from "@centella/quant/checks";
import type { AnyOp, Cost, Op } from "../../program/op.ts";
import type { Node } from "../../program/programGraph.ts";
import { byteLength, type ConcreteSpec, maxSpec, resolveSpec, type TensorSpec } from "../../spec.ts";

/** One call of a fused group's body. */
export interface FusedCall {
  readonly op: AnyOp;
  /** Places of its tensors. Place `i` is the group's input `i` if there is one, else the result of call `i - inputs.length`. */
  readonly inputs: readonly (number | undefined)[];
  readonly params: object;
  /** As recorded, including symbolic dims. */
  readonly output: TensorSpec;
}

/** What a fused group computes. */
export interface FusedParams {
  /** In order of execution. The last call's result is the group's. Only the last call may write a persistent, which is an input of the group. */
  readonly body: readonly FusedCall[];
  /**
   * For a group with several results: indices in the body of the other calls whose results leave the group, ascending. Calls of the
   * body may read these results. A backend that handles one result only must refuse such groups.
   */
  readonly extraOutputs?: readonly number[];
}

/**
 * A group of calls as one node, so that a backend can make one kernel of it. Passes make such nodes; they are not recorded.
 * A backend without a kernel for a group refuses it (`unsupported`) and gets the calls one by one.
 *
 * The reference (`evaluateGroup`) evaluates the body call by call and rounds each result to its dtype, so the bits are those of the calls without fusion.
 * Kernels may keep more precision between calls, within the tolerance of the calls one by one.
 */
export const fused: Op<readonly string[], FusedParams> = {
  name: "fused",
  inputs: [],
  defaults: {},
  required: ["body"],
  infer: (inputs, { body }) => evaluateBody(inputs, body, ({ op, params }, specs) => op.infer(specs, params)),
  cost(inputs, { body, extraOutputs = [] }, output): Cost {
    let flops = 0;
    const made: ConcreteSpec[] = [];
    const specOf = concreteSpecs(body, output);
    evaluateBody(inputs, body, (call, specs): ConcreteSpec => {
      const spec = specOf(call, specs);
      flops += call.op.cost(specs, call.params, spec).flops;
      made.push(spec);
      return spec;
    });
    const moved = [...inputs, ...extraOutputs.map((index) => made[index]), output];
    return { flops, bytes: moved.reduce((sum, spec) => sum + (spec === undefined ? 0 : byteLength(spec)), 0) };
  },
};

/** A node that is a group. */
export interface FusedNode extends Node {
  readonly inputs: readonly number[];
  readonly params: FusedParams;
}

/**
 * Makes one node of several, in order; groups among them are taken apart. The last node's result is the group's. Results that none of the
 * nodes reads, and those in `kept`, are extra outputs, those of groups among the nodes included.
 */
export function compose(
  values: readonly { readonly spec: TensorSpec }[],
  nodes: readonly Node[],
  kept: ReadonlySet<number> = new Set(),
): FusedNode {
  const results = nodes.flatMap((node) => [...(node.extraOutputs ?? []), node.output]);
  const inner = new Set(results);
  const read = new Set(nodes.flatMap((node) => node.inputs));
  const inputs = [...read].filter((id) => id !== undefined && !inner.has(id)) as number[];
  const places = new Map(inputs.map((id, place) => [id, place]));
  const body: FusedCall[] = [];
  for (const { op, inputs: used, params, output, extraOutputs = [] } of nodes) {
    const from = used.map((id) => (id === undefined ? undefined : entryOf(places, id)));
    if (isFused(op)) {
      const group = params as FusedParams;
      const start = inputs.length + body.length;
      const moved = (place: number | undefined): number | undefined =>
        place === undefined ? undefined : place < used.length ? from[place] : place + start - used.length;
      body.push(...group.body.map((call) => ({ ...call, inputs: call.inputs.map(moved) })));
      for (const [i, id] of extraOutputs.entries()) places.set(id, start + elementAt(group.extraOutputs ?? [], i));
    } else body.push({ op, inputs: from, params, output: elementAt(values, output).spec });
    places.set(output, inputs.length + body.length - 1);
  }
  const { output } = lastOf(nodes);
  const extraOutputs = results.filter((id) => id !== output && (!read.has(id) || kept.has(id)));
  if (extraOutputs.length === 0) return { op: fused, inputs, params: { body }, output };
  return {
    op: fused,
    inputs,
    params: { body, extraOutputs: extraOutputs.map((id) => entryOf(places, id) - inputs.length) },
    output,
    extraOutputs,
  };
}

/** Evaluates a body: `visit` computes a call's result from the call's inputs. Returns the last result. */
export function evaluateBody<T>(
  inputs: readonly (T | undefined)[],
  body: readonly FusedCall[],
  visit: (call: FusedCall, inputs: readonly (T | undefined)[], index: number) => T,
): T {
  const known = [...inputs];
  const results = body.map((call, index) => {
    const used = call.inputs.map((place) => (place === undefined ? undefined : known[place]));
    const result = visit(call, used, index);
    known.push(result);
    return result;
  });
  return lastOf(results);
}

/** Whether a node is a group of calls. */
export function isFused(op: AnyOp): boolean {
  return op === (fused as AnyOp);
}

/** The input that a node's result is the next version of; a group's last call may write one. */
export function writtenInput({ op, params }: { readonly op: AnyOp; readonly params: object }): number | undefined {
  if (!isFused(op)) return op.writes;
  const last = lastOf((params as FusedParams).body);
  return last.op.writes === undefined ? undefined : last.inputs[last.op.writes];
}

/** Whether a node is an elementwise call, or a group of elementwise calls only. */
export function isElementwise({ op, params }: { readonly op: AnyOp; readonly params: object }): boolean {
  if (!isFused(op)) return op.elementwise === true;
  return (params as FusedParams).body.every((call) => call.op.elementwise === true);
}

/**
 * The specs of a body's results in a run. Parameters may name symbolic dims (the shape of `expand`), so the values of dims are taken
 * from the group's result. Specs with other dims are inferred from the inputs.
 */
export function concreteSpecs(
  body: readonly FusedCall[],
  result: ConcreteSpec,
): (call: FusedCall, inputs: readonly (ConcreteSpec | undefined)[]) => ConcreteSpec {
  const dims: Record<string, number> = {};
  lastOf(body).output.shape.forEach((dim, axis) => {
    if (typeof dim !== "number") dims[dim.name] = elementAt(result.shape, axis);
  });
  return ({ op, params, output }, inputs) => {
    const isKnown = output.shape.every((dim) => typeof dim === "number" || dims[dim.name] !== undefined);
    return isKnown ? resolveSpec(output, dims) : maxSpec(op.infer(inputs, params));
  };
}
