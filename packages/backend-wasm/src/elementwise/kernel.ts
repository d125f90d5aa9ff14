import { type AnyOp, elementCount, type FusedParams, type Operand, type Shape, type TensorSpec } from "@centella/core";
import type { Kernel } from "../kernel.ts";
import { ranges } from "../kernels/shared/axes.ts";
import { broadcastGroups, groupExtents } from "./axes.ts";
import { expressionOf } from "./expressions/index.ts";
import { bytesOf, laneTypes } from "./lanes.ts";
import { type BodyCall, emitLoop, type Loop, loopKey, loopScalars } from "./loop.ts";

/** What an elementwise kernel computes. */
interface Form<P> {
  body(inputs: number, params: P, output: TensorSpec): readonly BodyCall[];
  /** The shapes as which the inputs broadcast, where these are not their own. */
  shapes?(inputs: readonly Shape[]): readonly Shape[];
}

/** A kernel that computes each element of its output from the elements of its inputs that broadcast to its place, in one loop. */
export function elementwise<P extends object>({ body, shapes = (own) => own }: Form<P>): Kernel<P> {
  const loopOf = (inputs: readonly TensorSpec[], params: P, y: TensorSpec) => {
    const groups = broadcastGroups(shapes(inputs.map(({ shape }) => shape)), y.shape);
    const dtypes = inputs.map(({ dtype }) => dtype);
    const loop: Loop = { inputs: dtypes, moves: groups[0]!.moves, outer: groups.length - 1, body: body(inputs.length, params, y) };
    return { groups, loop };
  };
  return {
    emitted: (inputs, params, output) => loopKey(loopOf(inputs as readonly TensorSpec[], params, output).loop),
    build({ emit }, inputs, params, y) {
      const operands = inputs as readonly Operand[];
      const { groups, loop } = loopOf(
        operands.map(({ spec }) => spec),
        params,
        y.spec,
      );
      const call = emit(loopKey(loop), (module, name, target) => emitLoop(module, name, target, loop));
      const scalars = loopScalars(loop);
      return (run) => {
        const shape = run.shape(y);
        const { extents, strides } = groupExtents(groups, shape);
        const sources = operands.flatMap((operand, i) => {
          const bytes = bytesOf(loop.inputs[i]!);
          return [run.address(operand), ...strides[i]!.slice(1).map((stride) => stride * bytes)];
        });
        const inner = loop.outer === 0 ? 1 : extents[0]!;
        const total = inner === 0 ? 0 : elementCount(shape) / inner;
        return ranges(call, [run.address(y), ...extents, ...sources, ...scalars], total, inner);
      };
    },
  };
}

/** The kernel of a fused group of calls that have expressions. */
export const fused: Kernel<FusedParams> = {
  ...elementwise<FusedParams>({
    body: (_count, { body }) =>
      body.map(({ op, params, inputs, output }) => ({
        op: op.name,
        expression: expressionOf(op.name)!,
        params,
        inputs: inputs as readonly number[],
        output: output.dtype,
      })),
  }),
  unsupported(inputs, { body }) {
    const hasExpression = (op: AnyOp): boolean => op.kernels === undefined && expressionOf(op.name) !== undefined;
    const apart = body.find(({ op, inputs: places }) => !hasExpression(op) || places.includes(undefined));
    if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
    const odd = inputs.find((spec) => !laneTypes.includes(spec!.dtype));
    return odd && `${odd.dtype} is not read in fused groups`;
  },
};

/** The kernel of one op that has an expression. */
export function expressionKernel<P extends object>(op: string): Kernel<P> {
  return elementwise<P>({
    body: (count, params, { dtype }) => [
      { op, expression: expressionOf(op)!, params, inputs: Array.from({ length: count }, (_, i) => i), output: dtype },
    ],
  });
}
