import type { Shape, TensorSpec } from "@centella/core";
import { type AnyOp, type FusedParams, lastOf, type Operand } from "@centella/core/backend";
import type { BuildContext, FusedKernel, Kernels, ListKernel, Range, Run } from "../kernel.ts";
import { rangeOf } from "../kernels/shared/axes.ts";
import { zip } from "../kernels/shared/zip.ts";
import { broadcastGroups, groupExtents } from "./axes.ts";
import { expressionOf, loadedExpression } from "./expressions/index.ts";
import type { ExpressionTable } from "./expressions/table.ts";
import { bytesOf, laneTypes } from "./lanes.ts";
import { type BodyCall, emitLoop, type Loop, loopKey, loopScalars } from "./loop.ts";

/** Computation of an elementwise kernel. */
interface Form<P> {
  body(inputs: number, params: P, output: TensorSpec): readonly BodyCall[];
  /** Shapes that the inputs broadcast as, if not their own. */
  shapes?(inputs: readonly Shape[]): readonly Shape[];
}

/** A loop for one call of a kernel, and how its inputs broadcast. */
interface LoopPlan {
  readonly groups: ReturnType<typeof broadcastGroups>;
  readonly loop: Loop;
}

function planLoop<P>({ body, shapes = (own) => own }: Form<P>, inputs: readonly TensorSpec[], params: P, y: TensorSpec): LoopPlan {
  const groups = broadcastGroups(shapes(inputs.map(({ shape }) => shape)), y.shape);
  const dtypes = inputs.map(({ dtype }) => dtype);
  const [{ moves }] = groups;
  return { groups, loop: { inputs: dtypes, moves, outer: groups.length - 1, body: body(inputs.length, params, y) } };
}

/** A range of columns of a result with one row. */
export interface Columns {
  readonly from: number;
  readonly count: number;
}

/** Returns the whole loop, or a range of columns of a result with one row. */
type LoopRange = (run: Run, columns?: Columns) => Range;

function buildLoop({ emit }: Pick<BuildContext, "emit">, { groups, loop }: LoopPlan, operands: readonly Operand[], y: Operand): LoopRange {
  const call = emit(loopKey(loop), (module, name, target) => emitLoop(module, name, target, loop));
  const scalars = loopScalars(loop);
  const elementBytes = bytesOf(lastOf(loop.body).output);
  return (run, columns) => {
    const shape = run.shape(y);
    const {
      extents: [innermost, ...outer],
      strides,
    } = groupExtents(groups, shape);
    const { from, count } = columns ?? { from: 0, count: innermost };
    const sources = zip(operands, strides).flatMap(([operand, [, ...outerStrides]], i) => {
      const bytes = bytesOf(operand.spec.dtype);
      const start = loop.moves[i] ? from * bytes : 0;
      return [run.address(operand) + start, ...outerStrides.map((stride) => stride * bytes)];
    });
    const rows = outer.reduce((product, extent) => product * extent, 1);
    const [inner, total] = loop.outer === 0 ? [1, count] : [count, count === 0 ? 0 : rows];
    const args = [run.address(y) + from * elementBytes, count, ...outer, ...sources, ...scalars];
    return rangeOf(call, args, total, inner);
  };
}

/** A kernel that computes its output in one loop over elements, with broadcasting. */
export function elementwise<P extends object>(form: Form<P>): ListKernel<P> & Required<Pick<ListKernel<P>, "emitted">> {
  return {
    emitted: (inputs, params, output) => [loopKey(planLoop(form, inputs, params, output).loop)],
    build(context, operands, params, y) {
      const specs = operands.map(({ spec }) => spec);
      const range = buildLoop(context, planLoop(form, specs, params, y.spec), operands, y);
      return (run) => [range(run)];
    },
  };
}

const group: Form<FusedParams> = {
  body: (_count, { body }) =>
    body.map(({ op, params, inputs, output }) => ({
      op: op.name,
      expression: loadedExpression(op.name),
      params,
      inputs: inputs as readonly number[],
      output: output.dtype,
    })),
};

/** Kernel of a fused group of elementwise calls. */
export const fusedLoop: FusedKernel = {
  ...elementwise(group),
  unsupported(inputs, { body, extraOutputs }) {
    if (extraOutputs !== undefined) return "a loop has one result";
    // Lazy expressions count before they are loaded.
    const hasExpression = (op: AnyOp): boolean =>
      op.kernels === undefined && (op.elementwise === true || expressionOf(op.name) !== undefined);
    const apart = body.find(({ op, inputs: places }) => !hasExpression(op) || places.includes(undefined));
    if (apart !== undefined) return `${apart.op.name} cannot be fused here`;
    const odd = inputs.find((spec) => !laneTypes.includes(spec.dtype));
    return odd && `fused groups cannot read ${odd.dtype}`;
  },
};

/** Builds the loop of a fused group for a kernel that also does other work. */
export function buildFusedLoop(
  context: Pick<BuildContext, "emit">,
  operands: readonly Operand[],
  params: FusedParams,
  y: Operand,
): LoopRange {
  const specs = operands.map(({ spec }) => spec);
  return buildLoop(context, planLoop(group, specs, params, y.spec), operands, y);
}

/** Kernel of one elementwise op. */
export function expressionKernel<P extends object>(op: string): ListKernel<P> {
  return elementwise<P>({
    body: (count, params, { dtype }) => [
      { op, expression: loadedExpression(op), params, inputs: Array.from({ length: count }, (_, i) => i), output: dtype },
    ],
  });
}

/** Kernels of a table's ops. */
export function expressionKernels(table: ExpressionTable): Kernels {
  return Object.fromEntries(Object.keys(table).map((op): [string, ListKernel<object>] => [op, expressionKernel(op)]));
}
