import type { OpName } from "@centella/core";
import {
  type AnchoredGroup,
  type AnyOp,
  anchoredGroup,
  elementAt,
  type FusedCall,
  type FusedParams,
  type Operand,
  sameShape,
  specAt,
} from "@centella/core/backend";
import { buildFusedLoop, fusedLoop } from "../elementwise/kernel.ts";
import type { AnyKernel, Call, FusedKernel, Range, Stage } from "../kernel.ts";
import { kernels } from "../kernels/index.ts";
import { isLazy, lazyKernel } from "../kernels/lazy/lazyKernels.ts";
import { traitsOf } from "../kernels/traits.ts";
import { stagesOf } from "../plan/stepList.ts";

/** Row ops support every call. */
function rowKernel(op: AnyOp): AnyKernel {
  return isLazy(op) ? lazyKernel(op) : (kernels[op.name as OpName] as AnyKernel);
}

/**
 * A norm or a softmax with an elementwise epilogue, or a norm with an elementwise prologue: `rmsNorm(x) + y`,
 * `rmsNorm(x + y)`, where `x + y` may be an output of its own. The thread that computes some rows does both while they
 * are in its cache.
 */
export const fusedRows: FusedKernel = {
  unsupported(inputs, params, output) {
    const group = anchoredGroup(inputs.length, params);
    if ("unsupported" in group) return group.unsupported;
    const { call, isLast, isKept, elementwise } = group;
    const row = elementAt(params.body, call);
    if (isLast && traitsOf(row.op).takesPrologue !== true && !isKept) return `${row.op.name} after other calls`;
    const specs = placesOf(row).map((place) => specAt(inputs, params, place));
    const x = elementAt(specs, 0);
    const { axis = -1 } = row.params as { readonly axis?: number };
    if (axis !== -1 && axis !== x.shape.length - 1) return `${row.op.name} along an axis other than the last`;
    if (![...specs, row.output, output].every((spec) => spec.dtype === "f32") || !sameShape(x.shape, output.shape))
      return "rows whose shape or type differs from that of the elementwise calls";
    const loop = elementwise.places.map((place) => specAt(inputs, params, place));
    return fusedLoop.unsupported?.(loop, elementwise.params, elementwise.output);
  },
  emitted(inputs, params) {
    const { elementwise } = supportedGroup(inputs.length, params);
    const specs = elementwise.places.map((place) => specAt(inputs, params, place));
    return fusedLoop.emitted(specs, elementwise.params, elementwise.output);
  },
  build(context, inputs, params, y, extraOutputs) {
    const { call, isLast, elementwise } = supportedGroup(inputs.length, params);
    const row = elementAt(params.body, call);
    // The intermediate result is an output too, or is stored in the result's memory.
    const between: Operand = extraOutputs?.[0] ?? { spec: isLast ? elementwise.output : row.output, storage: y.storage };
    const operandAt = (place: number): Operand => (place < inputs.length ? elementAt(inputs, place) : between);
    const rows = rowKernel(row.op).build(context, placesOf(row).map(operandAt), row.params, isLast ? y : between);
    const loop = buildFusedLoop(context, elementwise.places.map(operandAt), elementwise.params, isLast ? between : y);
    return function* (run): Iterable<Stage> {
      const stages = [...stagesOf(rows(run) ?? [])];
      const [range] = stages;
      const elements = loop(run);
      if (stages.length === 1 && isRange(range) && range.total > 0 && elements.total % range.total === 0)
        yield tiles(range, elements, isLast);
      else if (isLast) yield* [elements, ...stages];
      else yield* [...stages, elements];
    };
  },
};

/** Places of a row op's inputs. A group of calls that leave out an input is refused. */
function placesOf({ inputs }: FusedCall): readonly number[] {
  return inputs.filter((place) => place !== undefined);
}

/** A group that was supported when it was planned. */
function supportedGroup(count: number, params: FusedParams): AnchoredGroup {
  const group = anchoredGroup(count, params);
  if ("unsupported" in group) throw new TypeError(`fused: expected a supported group, got ${group.unsupported}; this is a bug`);
  return group;
}

function isRange(stage: Stage): stage is Range {
  return stage !== undefined && "fn" in stage;
}

/** Pairs each range of rows with its elements: after the rows for an epilogue, before them for a prologue. */
function tiles(rows: Range, elements: Range, isElementsFirst: boolean): readonly Call[] {
  const perRow = elements.total / rows.total;
  return Array.from({ length: Math.ceil(rows.total / rows.grain) }, (_, tile): Call => {
    const [begin, end] = [tile * rows.grain, Math.min(rows.total, (tile + 1) * rows.grain)];
    const ofRows: Call = { fn: rows.fn, args: [...rows.args, begin, end] };
    const ofElements: Call = { fn: elements.fn, args: [...elements.args, begin * perRow, end * perRow] };
    return isElementsFirst ? { ...ofElements, chained: [ofRows] } : { ...ofRows, chained: [ofElements] };
  });
}
