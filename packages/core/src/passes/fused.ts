import { isInteger, typedArrayOf } from "../dtype.ts";
import type { AnyOp, Cost, HostTensor, Op } from "../op.ts";
import { byteLength, type ConcreteSpec, elementCount, maxSpec, type TensorSpec } from "../spec.ts";

/** One call of a fused group's body. */
export interface FusedCall {
  readonly op: AnyOp;
  /** Places of its tensors: those below the number of the group's inputs are these, then come the results of the calls in order. */
  readonly inputs: readonly (number | undefined)[];
  readonly params: object;
  /** As recorded, symbolic dims and all. */
  readonly output: TensorSpec;
}

/** What a fused group computes. */
export interface FusedParams {
  /** In order of execution. The last one's result is the group's; no other leaves it. */
  readonly body: readonly FusedCall[];
}

/**
 * A group of calls as one node, so that a backend can make one kernel of it. Passes make such nodes; they are not recorded.
 * A backend that has no kernel for a group says why (`unsupported`) and gets its calls one by one.
 *
 * The reference evaluates the body with the ops' own references, each result rounded to its dtype: the same bits as without
 * fusion. Kernels may keep more precision between calls, within the tolerance of the calls one by one.
 */
export const fused: Op<[], FusedParams> = {
  name: "fused",
  inputs: [],
  defaults: {},
  required: ["body"],
  infer: (inputs, { body }) => evaluateBody(inputs, body, ({ op, params }, specs) => op.infer(specs, params)),
  cost(inputs, { body }, output): Cost {
    let flops = 0;
    evaluateBody(inputs, body, ({ op, params }, specs): ConcreteSpec => {
      const spec = maxSpec(op.infer(specs, params));
      flops += op.cost(specs, params, spec).flops;
      return spec;
    });
    const bytes = [...inputs, output].reduce((sum, spec) => sum + (spec === undefined ? 0 : byteLength(spec)), 0);
    return { flops, bytes };
  },
  reference(inputs, { body }, output) {
    const last = body.at(-1);
    evaluateBody(inputs, body, (call, tensors): HostTensor => {
      const result = call === last ? output : temporary(call, tensors);
      call.op.reference(tensors, call.params, result);
      return result;
    });
  },
};

/** Follows a body from its inputs to its result: `visit` makes of a call and its inputs the call's result. */
export function evaluateBody<T>(
  inputs: readonly (T | undefined)[],
  body: readonly FusedCall[],
  visit: (call: FusedCall, inputs: readonly (T | undefined)[], index: number) => T,
): T {
  const known = [...inputs];
  body.forEach((call, index) => {
    const used = call.inputs.map((place) => (place === undefined ? undefined : known[place]));
    known.push(visit(call, used, index));
  });
  return known.at(-1)!;
}

/** True for a node's op that stands for a group of calls. */
export function isFused(op: AnyOp): boolean {
  return op === (fused as AnyOp);
}

/** True for an elementwise call, and for a group of nothing else. */
export function isElementwise({ op, params }: { readonly op: AnyOp; readonly params: object }): boolean {
  if (!isFused(op)) return op.elementwise === true;
  return (params as FusedParams).body.every((call) => call.op.elementwise === true);
}

function temporary({ op, params }: FusedCall, inputs: readonly (HostTensor | undefined)[]): HostTensor {
  const spec = maxSpec(
    op.infer(
      inputs.map((input) => input?.spec),
      params,
    ),
  );
  const type = isInteger(spec.dtype) ? typedArrayOf(spec.dtype) : Float32Array;
  return { spec, data: new type(elementCount(spec.shape)) };
}
