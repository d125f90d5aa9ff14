import { DTypeError } from "../errors.ts";
import type { Op } from "../op.ts";
import { requireShape, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export interface StackParams {
  /** Where the new axis stands in the output, negative ones counted from its end. */
  readonly axis: number;
}

/** Two tensors along a new axis of extent 2. `a [...], b [...] -> y [..., 2, ...]`, of one shape and plain dtype. @throws {ShapeError | DTypeError | ArgumentError} */
export const stack: Op<["a", "b"], StackParams, "axis"> = {
  name: "stack",
  inputs: ["a", "b"],
  defaults: { axis: 0 },
  infer([a, b], { axis }) {
    requireDType("stack", "a", a!, plainTypes);
    if (a!.dtype !== b!.dtype) throw new DTypeError("stack", "a and b of one dtype", `${a!.dtype} and ${b!.dtype}`, "cast one of them");
    requireShape("stack", "b", b!, a!.shape);
    return { dtype: a!.dtype, shape: a!.shape.toSpliced(resolveAxis("stack", axis, a!.shape.length + 1), 0, 2) };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
  reference(inputs, { axis }, y) {
    const at = resolveAxis("stack", axis, y.spec.shape.length);
    const strides = rowMajor(y.spec.shape);
    inputs.forEach((input, i) => {
      const { shape } = input!.spec;
      copyBlock(shape, input!, { start: 0, strides: rowMajor(shape) }, y, { start: i * strides[at]!, strides: strides.toSpliced(at, 1) });
    });
  },
};
