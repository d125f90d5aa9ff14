import { type AxisView, axisView, type DimValues, type DType, type ReduceParams, type TensorSpec } from "@centella/core";
import type { Binding, Finish, Kernel, KernelDefinition, Prologue } from "../../kernel.ts";
import { defineKernel, elementOf, input, orderKeys, output, rowLanes, specials, workgroupReduce } from "../../wgsl.ts";
import { extents, maximum } from "./shape.ts";

/** `x` seen as `[outer, n, inner]` in a run. */
export function viewOf(op: string, x: TensorSpec, axis: number | null, dims: DimValues): AxisView {
  return axisView(op, extents(x.shape, dims), axis);
}

/**
 * A workgroup per row along an axis: the body sees `at`, where its row starts, `p.n` and `p.inner` (elements between
 * neighbours of the row); its lanes share the row.
 */
export function perRow(
  op: string,
  x: TensorSpec,
  axis: number | null,
  y: DType,
  parts: {
    readonly declarations: string;
    readonly body: string;
    readonly finish?: Finish | undefined;
    readonly prologue?: Prologue | undefined;
  },
): Kernel {
  const { prologue } = parts;
  const reads = parts.body.includes("again(") ? "again" : "once";
  return defineKernel({
    bindings: [...(prologue?.bindings ?? [input("x", 0)]), output("y", elementOf(y))],
    uniforms: { n: "u32", inner: "u32", ...prologue?.uniforms },
    lanes: rowLanes,
    declarations: [parts.declarations, ...loading(parts.declarations, prologue, reads)].join("\n"),
    finish: parts.finish,
    body: `let at = group / p.inner * p.n * p.inner + group % p.inner;\n${parts.body}`,
    dispatch(dims) {
      const { outer, n, inner } = viewOf(op, x, axis, dims);
      return { groups: outer * inner, values: { n, inner, ...prologue?.values(dims) } };
    },
  });
}

/** `load`, and `again` for kernels that read so, with what they need beside what is declared. */
export function loading(declared: string, prologue: Prologue | undefined, reads: "once" | "again"): readonly string[] {
  if (prologue !== undefined) return prologue.declarations.filter((block) => !declared.includes(block));
  return (reads === "once" ? ["load"] : ["load", "again"]).map((name) => `fn ${name}(i: u32) -> f32 { return x[i]; }`);
}

/** The loop in which a lane visits its share of a row, for the first time or again. */
export function eachOfRow(body: string, read: "load" | "again" = "load"): string {
  return `for (var i = lane; i < p.n; i += ${rowLanes}u) { let value = ${read}(at + i * p.inner); ${body} }`;
}

/** Elements of a row from which on several workgroups share it, and how many each of them takes at least. */
const longRow = 2 ** 14;
const leastShare = 2 ** 12;

/** Workgroups that suffice to keep a device busy. */
const enoughGroups = 512;

/** How many workgroups share each row of a reduction. */
export function sharersOf(rows: number, length: number): number {
  if (length < longRow) return 1;
  return Math.max(1, Math.min(Math.ceil(length / leastShare), Math.floor(enoughGroups / Math.max(1, rows))));
}

/** A fold of a row: `take` folds `value` into `acc`, `combine` joins `a` and `b`; `result` is an expression of `total` and `p.length`. */
interface Fold {
  readonly type: "f32" | "u32";
  readonly initial: string;
  readonly take: string;
  readonly combine: string;
  readonly result: string;
  readonly declarations: string;
}

/** A reduction of `x` along an axis. Where rows are long and few, workgroups share each, and another dispatch joins what they found. */
function reducing(op: string, { type, initial, take, combine, result, declarations }: Fold): KernelDefinition<ReduceParams> {
  const functions = `${declarations}\n${workgroupReduce("joined", type, rowLanes, combine)}`;
  return {
    finishes: true,
    reads: "once",
    build({ inputs: [x], params: { axis }, finish, prologue }) {
      const most = viewOf(op, { ...x!, shape: x!.shape.map(maximum) }, axis, {});
      const sharers = sharersOf(most.outer * most.inner, most.n);
      if (sharers === 1) {
        const body = `var acc = ${initial};\n${eachOfRow(take)}\nlet total = joined(lane, acc);\nif (lane == 0u) { store(group, ${result}); }`;
        return [perRow(op, x!, axis, "f32", { finish, prologue, declarations: functions, body })];
      }
      const rows = (dims: DimValues): number => {
        const { outer, inner } = viewOf(op, x!, axis, dims);
        return outer * inner;
      };
      const bytes = 4 * most.outer * most.inner * sharers;
      const parts: Binding = { name: "parts", resource: { kind: "scratch", bytes }, access: "read_write", element: type };
      const share = defineKernel({
        bindings: [...(prologue?.bindings ?? [input("x", 0)]), parts],
        uniforms: { n: "u32", inner: "u32", ...prologue?.uniforms },
        lanes: rowLanes,
        declarations: [functions, ...loading(functions, prologue, "once")].join("\n"),
        body: `
          let row = group / ${sharers}u;
          let at = row / p.inner * p.n * p.inner + row % p.inner;
          let share = (p.n + ${sharers - 1}u) / ${sharers}u;
          let first = group % ${sharers}u * share;
          let end = min(first + share, p.n);
          var acc = ${initial};
          for (var i = first + lane; i < end; i += ${rowLanes}u) { let value = load(at + i * p.inner); ${take} }
          let total = joined(lane, acc);
          if (lane == 0u) { parts[group] = total; }
        `,
        dispatch(dims) {
          const { n, inner } = viewOf(op, x!, axis, dims);
          return { groups: rows(dims) * sharers, values: { n, inner, ...prologue?.values(dims) } };
        },
      });
      const join = defineKernel({
        bindings: [{ ...parts, access: "read" }, output("y")],
        uniforms: { n: "u32" },
        lanes: rowLanes,
        declarations: functions,
        finish,
        body: `
          var acc = ${initial};
          for (var i = lane; i < ${sharers}u; i += ${rowLanes}u) { let a = acc; let b = parts[group * ${sharers}u + i]; acc = ${combine}; }
          let total = joined(lane, acc);
          if (lane == 0u) { store(group, ${result}); }
        `,
        dispatch: (dims) => ({ groups: rows(dims), values: { n: viewOf(op, x!, axis, dims).n } }),
      });
      return [share, join];
    },
  };
}

/** sum or mean: lanes add up their shares, then the workgroup does. */
export function summing(op: "sum" | "mean"): KernelDefinition<ReduceParams> {
  // Nothing divided by nothing is NaN, but not for every compiler.
  const result = op === "sum" ? "total" : "select(total / f32(p.n), nan(), p.n == 0u)";
  return reducing(op, { type: "f32", initial: "0.0", take: "acc += value;", combine: "a + b", result, declarations: specials });
}

/** max or min by order keys, so that a NaN comes through; min takes the keys upside down, but a NaN still wins. */
export function extreme(op: "max" | "min"): KernelDefinition<ReduceParams> {
  const key = op === "max" ? "keyOf(value)" : "select(~keyOf(value), 0xffffffffu, isNan(value))";
  return reducing(op, {
    type: "u32",
    // The key of -Infinity (of Infinity upside down): what a row without elements gives.
    initial: "0x007fffffu",
    take: `acc = max(acc, ${key});`,
    combine: "max(a, b)",
    result: op === "max" ? "ofKey(total)" : "ofKey(select(~total, total, total == 0xffffffffu))",
    declarations: `${specials}\n${orderKeys}`,
  });
}
