import { elementAt } from "@centella/quant/checks";
import { isQuantized } from "../../dtype.ts";
import { DTypeError, ShapeError } from "../../errors.ts";
import type { Cost, HostTensor, NoParams, Op } from "../../program/op.ts";
import {
  byteLength,
  type ConcreteSpec,
  type Dim,
  elementCount,
  formatShape,
  formatSpec,
  type Shape,
  sameDim,
  type TensorSpec,
} from "../../spec.ts";

/** Unary elementwise op on f32: `y[i] = f(x[i])`, `x [...] -> y [...]`. */
export function unary<P extends object = NoParams, D extends keyof P = never>(definition: {
  readonly name: string;
  readonly defaults: Pick<P, D>;
  readonly required?: readonly Exclude<keyof P, D>[];
  /** Flops per element. A transcendental function counts as one. */
  readonly flops: number;
  readonly check?: (params: P) => void;
  readonly f: (x: number, params: P) => number;
}): Op<["x"], P, D> {
  const { name, defaults, required, flops, check, f } = definition;
  return {
    name,
    inputs: ["x"],
    elementwise: true,
    defaults,
    ...(required === undefined ? {} : { required }),
    infer([x], params) {
      check?.(params);
      return requireDType(name, "x", x, ["f32"]);
    },
    cost: ([x]) => elementwiseCost(flops, [x], x),
    reference([x], params, y) {
      const [from, to] = [x.data, y.data];
      for (let i = 0; i < to.length; i++) to[i] = f(from[i]!, params);
    },
  };
}

/** Binary elementwise op with numpy broadcasting, on f32 or wrapping i32: `a [...], b [...] -> y [...]`. */
export function binary(definition: {
  readonly name: string;
  readonly f: (a: number, b: number) => number;
  /** The same function on i32, wrapping. Without it the op takes f32 only. */
  readonly i32?: (a: number, b: number) => number;
}): Op<["a", "b"]> {
  const { name, f, i32 } = definition;
  return {
    name,
    inputs: ["a", "b"],
    elementwise: true,
    defaults: {},
    infer([a, b]) {
      const dtypes = i32 === undefined ? (["f32"] as const) : (["f32", "i32"] as const);
      requireDType(name, "a", a, dtypes);
      if (a.dtype !== b.dtype) throw new DTypeError(name, "a and b of one dtype", `${a.dtype} and ${b.dtype}`, "cast one of them");
      return { dtype: a.dtype, shape: broadcast(name, a.shape, b.shape) };
    },
    cost: (inputs, _params, output) => elementwiseCost(1, inputs, output),
    reference: ([a, b], _params, y) => combine(a, b, y, y.spec.dtype === "i32" ? (i32 ?? f) : f),
  };
}

/** Computes `y = f(a, b)` element by element, with `a` and `b` broadcast to `y`. */
export function combine(a: HostTensor, b: HostTensor, y: HostTensor, f: (a: number, b: number) => number): void {
  const { shape } = y.spec;
  const [p, q, to] = [a.data, b.data, y.data];
  const [pIndex, qIndex] = [broadcastIndex(a.spec.shape, shape), broadcastIndex(b.spec.shape, shape)];
  const pStep = broadcastStrides(a.spec.shape, shape).at(-1) ?? 0;
  const qStep = broadcastStrides(b.spec.shape, shape).at(-1) ?? 0;
  const n = shape.at(-1) ?? 1;
  for (let row = 0; row < to.length; row += n) {
    const [pAt, qAt] = [pIndex(row), qIndex(row)];
    for (let i = 0; i < n; i++) to[row + i] = f(p[pAt + i * pStep]!, q[qAt + i * qStep]!);
  }
}

/** Ternary elementwise op on f32 with numpy broadcasting of all three inputs. */
export function ternary<I extends readonly [string, string, string]>(definition: {
  readonly name: string;
  readonly inputs: I;
  readonly flops: number;
  readonly f: (a: number, b: number, c: number) => number;
}): Op<I> {
  const { name, inputs: names, flops, f } = definition;
  return {
    name,
    inputs: names,
    elementwise: true,
    defaults: {},
    infer(inputs) {
      inputs.forEach((spec, i) => void requireDType(name, elementAt(names, i), spec, ["f32"]));
      return { dtype: "f32", shape: broadcastAll(name, inputs) };
    },
    cost: (inputs, _params, y) => elementwiseCost(flops, inputs, y),
    reference: ([a, b, c], _params, y) => combineThree(a, b, c, y, f),
  };
}

/** Computes `y = f(a, b, c)` element by element, with the inputs broadcast to `y`. */
export function combineThree(
  a: HostTensor,
  b: HostTensor,
  c: HostTensor,
  y: HostTensor,
  f: (a: number, b: number, c: number) => number,
): void {
  const indexOf = (tensor: HostTensor): ((index: number) => number) => broadcastIndex(tensor.spec.shape, y.spec.shape);
  const [ofA, ofB, ofC] = [indexOf(a), indexOf(b), indexOf(c)];
  for (let i = 0; i < y.data.length; i++) y.data[i] = f(a.data[ofA(i)]!, b.data[ofB(i)]!, c.data[ofC(i)]!);
}

/** Shape that all inputs broadcast to. @throws {ShapeError} */
export function broadcastAll(op: string, inputs: readonly TensorSpec[]): Shape {
  return inputs.reduce<Shape>((shape, spec) => broadcast(op, shape, spec.shape), []);
}

/** Shape that two shapes broadcast to by numpy's rule: axes align at the last one, and an extent of 1 stretches. @throws {ShapeError} */
export function broadcast(op: string, a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis): Dim => {
    const p = a[axis - rank + a.length] ?? 1;
    const q = b[axis - rank + b.length] ?? 1;
    if (p === 1) return q;
    if (q === 1 || sameDim(p, q)) return p;
    throw new ShapeError(
      op,
      "shapes that broadcast (equal extents or 1, aligned at the last axis)",
      `${formatShape(a)} and ${formatShape(b)}`,
      "reshape one of them",
    );
  });
}

/** Returns a function from flat indices of the broadcast shape `output` to flat indices of `input`. */
export function broadcastIndex(input: readonly number[], output: readonly number[]): (index: number) => number {
  if (input.length === output.length && input.every((dim, axis) => dim === output[axis])) return (index) => index;
  const strides = broadcastStrides(input, output);
  const axes = output.map((extent, axis) => ({ extent, stride: elementAt(strides, axis) })).reverse();
  return (index) => {
    let rest = index;
    let at = 0;
    for (const { extent, stride } of axes) {
      at += (rest % extent) * stride;
      rest = Math.floor(rest / extent);
    }
    return at;
  };
}

/** Element strides of `input` along the axes of the broadcast shape `output`; 0 on axes that stretch. */
export function broadcastStrides(input: readonly number[], output: readonly number[]): readonly number[] {
  const lead = output.length - input.length;
  const strides = new Array<number>(output.length).fill(0);
  let stride = 1;
  for (const [axis, extent] of [...input.entries()].reverse()) {
    if (extent !== 1) strides[axis + lead] = stride;
    stride *= extent;
  }
  return strides;
}

/** Returns `spec`. @throws {DTypeError} unless it has one of `dtypes` */
export function requireDType(op: string, name: string, spec: TensorSpec, dtypes: readonly string[]): TensorSpec {
  if (!dtypes.includes(spec.dtype)) {
    const fix = isQuantized(spec.dtype) ? "dequantise it first" : "cast it";
    throw new DTypeError(op, `${name} in ${dtypes.join(" or ")}`, formatSpec(spec), fix);
  }
  return spec;
}

/** @throws {DTypeError} unless all tensors have the first one's dtype */
export function requireOneDType(op: string, tensors: readonly [TensorSpec, ...TensorSpec[]]): void {
  const [first] = tensors;
  const other = tensors.find((tensor) => tensor.dtype !== first.dtype);
  if (other !== undefined) throw new DTypeError(op, "tensors of one dtype", `${first.dtype} and ${other.dtype}`, "cast one of them");
}

/** Cost of an op with `flopsPerElement` per output element that reads each input once and writes the output once. */
export function elementwiseCost(flopsPerElement: number, inputs: readonly (ConcreteSpec | undefined)[], output: ConcreteSpec): Cost {
  const bytes = [...inputs, output].reduce((sum, spec) => sum + (spec === undefined ? 0 : byteLength(spec)), 0);
  return { flops: flopsPerElement * elementCount(output.shape), bytes };
}
