import { ArgumentError, ShapeError } from "../../errors.ts";
import type { HostTensor } from "../../program/op.ts";
import { formatShape, formatSpec, type TensorSpec } from "../../spec.ts";
import { requireAxes, requireExtent, requirePair } from "./checks.ts";
import { requireDType } from "./elementwise.ts";
import { type Pair, windowCount } from "./windows.ts";

/** Parameters of pooling. Pairs are `[vertical, horizontal]`. */
export interface PoolParams {
  /** Extents of a window. */
  readonly kernel: Pair;
  /** Distance between windows; null means the kernel's size, so that windows do not overlap. */
  readonly stride: Pair | null;
  /** Elements added on each of the two sides of an axis, at most half the kernel, so that no window is all padding. */
  readonly padding: Pair;
}

/** Spec of the result of pooling `x [N, C, H, W]`. @throws {ShapeError | DTypeError | ArgumentError} */
export function inferPool(name: string, x: TensorSpec, params: PoolParams): TensorSpec {
  requireDType(name, "x", x, ["f32"]);
  const [batch, channels, H, W] = requireAxes(name, "x", x, ["N", "C", "H", "W"]);
  const [height, width] = [requireExtent(name, "H of x", H), requireExtent(name, "W of x", W)];
  const { kernel, padding } = params;
  requirePair(name, "kernel", kernel, 1);
  if (params.stride !== null) requirePair(name, "stride", params.stride, 1);
  requirePair(name, "padding", padding, 0);
  if (padding[0] > kernel[0] / 2 || padding[1] > kernel[1] / 2) {
    const got = `padding ${formatShape(padding)} with kernel ${formatShape(kernel)}`;
    throw new ArgumentError(name, "padding of at most half the kernel", got, "a window of only padding has no value");
  }
  const windows = windowsOf(params);
  const extents = [windowCount(windows, 0, height, kernel[0]), windowCount(windows, 1, width, kernel[1])];
  if (Math.min(...extents) < 1)
    throw new ShapeError(name, "a kernel that fits into the padded x", `kernel ${formatShape(kernel)} on x ${formatSpec(x)}`, "pad more");
  return { dtype: "f32", shape: [batch, channels, ...extents] };
}

/** Calls `fold` for each window with the flat indices into `x` of its elements, without padding, and stores the returned value in `y`. */
export function forEachWindow(x: HostTensor, params: PoolParams, y: HostTensor, fold: (window: readonly number[]) => number): void {
  const [height, width] = x.spec.shape.slice(2) as [number, number];
  const [rows, columns] = y.spec.shape.slice(2) as [number, number];
  const { stride, padding } = windowsOf(params);
  const [kh, kw] = params.kernel;
  for (let at = 0; at < y.data.length; at++) {
    const plane = Math.floor(at / (rows * columns)) * height * width;
    const top = (Math.floor(at / columns) % rows) * stride[0] - padding[0];
    const left = (at % columns) * stride[1] - padding[1];
    const window: number[] = [];
    for (let row = Math.max(0, top); row < Math.min(height, top + kh); row++) {
      for (let column = Math.max(0, left); column < Math.min(width, left + kw); column++) window.push(plane + row * width + column);
    }
    y.data[at] = fold(window);
  }
}

function windowsOf({ kernel, stride, padding }: PoolParams): { stride: Pair; padding: Pair; dilation: Pair } {
  return { stride: stride ?? kernel, padding, dilation: [1, 1] };
}
