import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import type { Conv2dParams } from "./conv2d.ts";
import { requireAxes, requireExtent, requireExtents, requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { windowCount } from "./shared/windows.ts";

export interface Conv1dParams {
  /** Distance between windows. */
  readonly stride: number;
  /** Zeros added on each of the two sides. For unequal sides, e.g. in a causal convolution, use `pad` first. */
  readonly padding: number;
  /** Distance between the elements of `x` that one window reads. */
  readonly dilation: number;
  /** Number of groups. Output channels of a group see only the input channels of the same group. */
  readonly groups: number;
}

/**
 * Cross-correlation along one axis: `y[n, o, i] = sum(c, p) x[n, c, i * stride + p * dilation - padding] * w[o, c, p]`. Outside `x` the
 * values are 0.
 * `x [N, C, L], w [O, C / groups, k] -> y [N, O, L']`, f32, with `L' = floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1`.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or the kernel does not fit into the padded x
 * @throws {ArgumentError} if an option is out of range, or `groups` does not divide C and O
 */
export const conv1d: Op<["x", "w"], Conv1dParams, keyof Conv1dParams> = {
  name: "conv1d",
  computeBound: true,
  inputs: ["x", "w"],
  defaults: { stride: 1, padding: 0, dilation: 1, groups: 1 },
  infer([x, w], params) {
    const { stride, padding, dilation, groups } = params;
    requireDType("conv1d", "x", x, ["f32"]);
    requireDType("conv1d", "w", w, ["f32"]);
    const [batch, C, L] = requireAxes("conv1d", "x", x, ["N", "C", "L"]);
    const channels = requireExtent("conv1d", "C of x", C);
    const length = requireExtent("conv1d", "L of x", L);
    const [out, perGroup, k] = requireExtents("conv1d", "w", w, ["O", "C / groups", "k"]);
    requireWhole("conv1d", "stride", stride, 1);
    requireWhole("conv1d", "padding", padding, 0);
    requireWhole("conv1d", "dilation", dilation, 1);
    requireWhole("conv1d", "groups", groups, 1);
    if (channels % groups !== 0 || out % groups !== 0)
      throw new ArgumentError("conv1d", `groups that divide C = ${channels} and O = ${out}`, String(groups), "choose other groups");
    if (perGroup !== channels / groups)
      throw new ShapeError("conv1d", `w [O, C / groups = ${channels / groups}, k]`, formatSpec(w), "give w that shape, or change groups");
    if (k === 0) throw new ShapeError("conv1d", "a kernel of at least [1]", formatSpec(w), "give w at least one element per channel");
    const extent = windowCount(flat(params), 1, length, k);
    if (extent < 1)
      throw new ShapeError("conv1d", "a kernel that fits into the padded x", `w ${formatSpec(w)} on x ${formatSpec(x)}`, "pad more");
    return { dtype: "f32", shape: [batch, out, extent] };
  },
  cost([x, w], _params, y) {
    const perOutput = elementCount(w.shape.slice(1));
    return { flops: 2 * perOutput * elementCount(y.shape), bytes: byteLength(x) + byteLength(w) + byteLength(y) };
  },
};

/** The same windows for an image of one row. */
export function flat({ stride, padding, dilation }: Conv1dParams): Omit<Conv2dParams, "groups"> {
  return { stride: [1, stride], padding: [0, padding], dilation: [1, dilation] };
}
