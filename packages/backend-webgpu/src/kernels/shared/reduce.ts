import { type AxisView, axisView, type DimValues, type DType, type ReduceParams, type TensorSpec } from "@centella/core";
import type { Finish, Kernel, KernelDefinition, Prologue } from "../../kernel.ts";
import { defineKernel, elementOf, input, orderKeys, output, rowLanes, specials, workgroupReduce } from "../../wgsl.ts";
import { extents } from "./shape.ts";

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
  const loading = prologue?.declarations.filter((block) => !parts.declarations.includes(block)) ?? [
    "fn load(i: u32) -> f32 { return x[i]; }",
  ];
  return defineKernel({
    bindings: [...(prologue?.bindings ?? [input("x", 0)]), output("y", elementOf(y))],
    uniforms: { n: "u32", inner: "u32", ...prologue?.uniforms },
    lanes: rowLanes,
    declarations: [parts.declarations, ...loading].join("\n"),
    finish: parts.finish,
    body: `let at = group / p.inner * p.n * p.inner + group % p.inner;\n${parts.body}`,
    dispatch(dims) {
      const { outer, n, inner } = viewOf(op, x, axis, dims);
      return { groups: outer * inner, values: { n, inner, ...prologue?.values(dims) } };
    },
  });
}

/** The loop in which a lane visits its share of a row. */
export function eachOfRow(body: string): string {
  return `for (var i = lane; i < p.n; i += ${rowLanes}u) { let value = load(at + i * p.inner); ${body} }`;
}

/** sum or mean: lanes add up their shares, then the workgroup does. */
export function summing(op: "sum" | "mean"): KernelDefinition<ReduceParams> {
  // Nothing divided by nothing is NaN, but not for every compiler.
  const result = op === "sum" ? "total" : "select(total / f32(p.n), nan(), p.n == 0u)";
  return {
    finishes: true,
    loads: true,
    build({ inputs: [x], params: { axis }, finish, prologue }) {
      return [
        perRow(op, x!, axis, "f32", {
          finish,
          prologue,
          declarations: `${specials}\n${workgroupReduce("addUp", "f32", rowLanes, "a + b")}`,
          body: `var sum = 0.0;\n${eachOfRow("sum += value;")}\nlet total = addUp(lane, sum);\nif (lane == 0u) { store(group, ${result}); }`,
        }),
      ];
    },
  };
}

/** max or min by order keys, so that a NaN comes through; min takes the keys upside down, but a NaN still wins. */
export function extreme(op: "max" | "min"): KernelDefinition<ReduceParams> {
  const key = op === "max" ? "keyOf(value)" : "select(~keyOf(value), 0xffffffffu, isNan(value))";
  const result = op === "max" ? "ofKey(best)" : "ofKey(select(~best, best, best == 0xffffffffu))";
  // The key of -Infinity (of Infinity upside down): what a row without elements gives.
  const lowest = "0x007fffffu";
  return {
    finishes: true,
    loads: true,
    build({ inputs: [x], params: { axis }, finish, prologue }) {
      return [
        perRow(op, x!, axis, "f32", {
          finish,
          prologue,
          declarations: `${specials}\n${orderKeys}\n${workgroupReduce("largest", "u32", rowLanes, "max(a, b)")}`,
          body: `var key = ${lowest};\n${eachOfRow(`key = max(key, ${key});`)}\nlet best = largest(lane, key);\nif (lane == 0u) { store(group, ${result}); }`,
        }),
      ];
    },
  };
}
