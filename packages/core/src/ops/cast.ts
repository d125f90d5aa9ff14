import { isHalf } from "@centella/quant";
import { roundToHalf } from "../backend/decode.ts";
import { type DType, isInteger, type ScalarType } from "../dtype.ts";
import type { Op } from "../program/op.ts";
import { requireOneOf } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

/** Parameters of `cast`. */
export interface CastParams {
  /** The dtype of the result. */
  readonly dtype: ScalarType;
}

/**
 * Converts values to another plain dtype.
 * `x [...] -> y [...]`, from and to any plain dtype. For block types use `quantize` and `dequantize`.
 *
 * - Float to integer truncates toward zero and saturates; NaN becomes 0.
 * - Integer to integer keeps the low bits.
 * - To bool: `x != 0`, so NaN is true. From bool: 0 or 1.
 * - To f16 and bf16 rounds to the nearest f32 first, then to the nearest value of the type, ties to even.
 * @throws {DTypeError | ArgumentError} if x or `dtype` is not a plain dtype
 */
export const cast: Op<["x"], CastParams> = {
  name: "cast",
  inputs: ["x"],
  elementwise: true,
  defaults: {},
  required: ["dtype"],
  infer([x], { dtype }) {
    requireDType("cast", "x", x, plainTypes);
    requireOneOf("cast", "dtype", dtype, plainTypes);
    return { dtype, shape: x.shape };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
  reference([x], { dtype }, y) {
    const convert = converter(x.spec.dtype, dtype);
    for (let i = 0; i < y.data.length; i++) y.data[i] = convert(x.data[i]!);
    if (isHalf(dtype)) y.data.set(roundToHalf(dtype, y.data as Float32Array));
  },
};

const ranges: Readonly<Partial<Record<DType, readonly [number, number]>>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  i8: [-128, 127],
  u8: [0, 255],
};

function converter(from: DType, to: DType): (x: number) => number {
  if (from === "bool" || to === "bool") return (x) => Number(x !== 0);
  const range = ranges[to];
  // A typed array keeps the low bits of an integer that it stores.
  if (range === undefined || isInteger(from)) return (x) => x;
  const [low, high] = range;
  return (x) => (Number.isNaN(x) ? 0 : Math.min(Math.max(Math.trunc(x), low), high));
}
