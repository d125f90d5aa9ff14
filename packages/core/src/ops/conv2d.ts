import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { requireAxes, requireExtent, requireExtents, requirePair, requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { type Pair, windowCount } from "./shared/windows.ts";

/** Pairs are `[vertical, horizontal]`. */
export interface Conv2dParams {
  /** Distance between windows. */
  readonly stride: Pair;
  /** Zeros added on each of the two sides of an axis. */
  readonly padding: Pair;
  /** Distance between the elements of `x` that one window reads. */
  readonly dilation: Pair;
  /** Number of groups. Output channels of a group see only the input channels of the same group. */
  readonly groups: number;
}

/**
 * Cross-correlation over two axes, which deep-learning libraries call convolution:
 * `y[n, o, i, j] = sum(c, p, q) x[n, c, i * stride + p * dilation - padding, ...] * w[o, c, p, q]`. Outside `x` the values are 0.
 * `x [N, C, H, W], w [O, C / groups, kh, kw] -> y [N, O, H', W']`, f32, with
 * `H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1`, and `W'` likewise.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or the kernel does not fit into the padded x
 * @throws {ArgumentError} if an option is out of range, or `groups` does not divide C and O
 */
export const conv2d: Op<["x", "w"], Conv2dParams, keyof Conv2dParams> = {
  name: "conv2d",
  computeBound: true,
  inputs: ["x", "w"],
  defaults: { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 },
  infer([x, w], params) {
    const { groups } = params;
    requireDType("conv2d", "x", x, ["f32"]);
    requireDType("conv2d", "w", w, ["f32"]);
    const [batch, C, H, W] = requireAxes("conv2d", "x", x, ["N", "C", "H", "W"]);
    const channels = requireExtent("conv2d", "C of x", C);
    const height = requireExtent("conv2d", "H of x", H);
    const width = requireExtent("conv2d", "W of x", W);
    const [out, perGroup, kh, kw] = requireExtents("conv2d", "w", w, ["O", "C / groups", "kh", "kw"]);
    requirePair("conv2d", "stride", params.stride, 1);
    requirePair("conv2d", "padding", params.padding, 0);
    requirePair("conv2d", "dilation", params.dilation, 1);
    requireWhole("conv2d", "groups", groups, 1);
    if (channels % groups !== 0 || out % groups !== 0)
      throw new ArgumentError("conv2d", `groups that divide C = ${channels} and O = ${out}`, String(groups), "choose other groups");
    if (perGroup !== channels / groups)
      throw new ShapeError(
        "conv2d",
        `w [O, C / groups = ${channels / groups}, kh, kw]`,
        formatSpec(w),
        "give w that shape, or change groups",
      );
    if (kh === 0 || kw === 0)
      throw new ShapeError("conv2d", "a kernel of at least [1, 1]", formatSpec(w), "give w at least one element per channel");
    const extents = [windowCount(params, 0, height, kh), windowCount(params, 1, width, kw)];
    if (Math.min(...extents) < 1) {
      throw new ShapeError("conv2d", "a kernel that fits into the padded x", `w ${formatSpec(w)} on x ${formatSpec(x)}`, "pad more");
    }
    return { dtype: "f32", shape: [batch, out, ...extents] };
  },
  cost([x, w], _params, y) {
    const perOutput = elementCount(w.shape.slice(1));
    return { flops: 2 * perOutput * elementCount(y.shape), bytes: byteLength(x) + byteLength(w) + byteLength(y) };
  },
};
