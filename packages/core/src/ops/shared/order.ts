import { elementAt } from "@centella/quant/checks";
import { ArgumentError } from "../../errors.ts";
import type { HostTensor, Op } from "../../program/op.ts";
import { byteLength, type ConcreteSpec, elementCount } from "../../spec.ts";
import { axisView, gather } from "./axes.ts";
import { requireBoolean, requireExtent, requireWhole, resolveAxis } from "./checks.ts";
import { requireDType } from "./elementwise.ts";

export interface SortParams {
  /** Axis to sort. A negative axis counts from the end. */
  readonly axis: number;
  /** Whether the largest value comes first. */
  readonly descending: boolean;
}

export interface TopKParams {
  /** Number of values to take, from 0 to the axis's extent. */
  readonly k: number;
  /** Axis to take values along. A negative axis counts from the end. */
  readonly axis: number;
  /** True takes the largest values, largest first. False takes the smallest, smallest first. */
  readonly largest: boolean;
}

/** Result of a sort: a node has one output, so values and indices are two ops. */
type Give = "values" | "indices";

/** Op that sorts stably along an axis. NaN counts as the largest value. */
export function sorting(name: string, give: Give): Op<["x"], SortParams, keyof SortParams> {
  return {
    name,
    inputs: ["x"],
    defaults: { axis: -1, descending: false },
    infer([x], { axis, descending }) {
      requireDType(name, "x", x, ["f32"]);
      requireBoolean(name, "descending", descending);
      resolveAxis(name, axis, x.shape.length);
      return { dtype: give === "values" ? "f32" : "i32", shape: x.shape };
    },
    cost: ([x], _params, y) => cost(x, y),
    reference: ([x], { axis, descending }, y) => order(name, x, axis, descending, give, y),
  };
}

/** Op that takes the first `k` of a stable sort along an axis. */
export function selection(name: string, give: Give): Op<["x"], TopKParams, "axis" | "largest"> {
  return {
    name,
    inputs: ["x"],
    defaults: { axis: -1, largest: true },
    required: ["k"],
    infer([x], { k, axis: given, largest }) {
      requireDType(name, "x", x, ["f32"]);
      requireBoolean(name, "largest", largest);
      const axis = resolveAxis(name, given, x.shape.length);
      const n = requireExtent(name, `axis ${axis} of x`, elementAt(x.shape, axis));
      requireWhole(name, "k", k, 0);
      if (k > n) throw new ArgumentError(name, `k up to the axis's extent ${n}`, String(k), "lower k");
      return { dtype: give === "values" ? "f32" : "i32", shape: x.shape.with(axis, k) };
    },
    cost: ([x], _params, y) => cost(x, y),
    reference: ([x], { axis, largest }, y) => order(name, x, axis, largest, give, y),
  };
}

function cost(x: ConcreteSpec, y: ConcreteSpec): { readonly flops: number; readonly bytes: number } {
  const count = elementCount(x.shape);
  return { flops: count * Math.ceil(Math.log2(Math.max(2, count))), bytes: byteLength(x) + byteLength(y) };
}

/** Sorts each line of `x` along the axis and writes the first elements, as many as `y` holds per line. */
function order(name: string, x: HostTensor, axis: number, descending: boolean, give: Give, y: HostTensor): void {
  const { outer, n, inner } = axisView(name, x.spec.shape, axis);
  const kept = axisView(name, y.spec.shape, axis).n;
  const line = new Float64Array(n);
  for (let o = 0; o < outer; o++) {
    for (let k = 0; k < inner; k++) {
      gather(x.data, o * n * inner + k, inner, line);
      const sorted = Array.from(line, (value, index) => ({ values: value, indices: index }));
      sorted.sort((p, q) => (descending ? compare(q.values, p.values) : compare(p.values, q.values)));
      for (const [i, first] of sorted.slice(0, kept).entries()) y.data[(o * kept + i) * inner + k] = first[give];
    }
  }
}

function compare(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}
