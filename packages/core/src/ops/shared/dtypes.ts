import type { ScalarType } from "../../dtype.ts";

/**
 * Dtypes that ops take and return. Nothing is promoted: the tensors of one call have one dtype, and `cast` makes every change explicit.
 *
 * | ops                                                        | takes                                    | returns        |
 * | ---------------------------------------------------------- | ---------------------------------------- | -------------- |
 * | add, sub, mul, minimum, maximum                            | f32 or i32                               | the same       |
 * | any, all                                                   | bool                                     | bool           |
 * | remaining arithmetic, functions, reductions, norms, pools  | f32                                      | f32            |
 * | matmul, embedding                                          | f32; the weight f16, bf16 or blocks too  | f32            |
 * | equal, notEqual, less, lessEqual, greater, greaterEqual    | any plain number                         | bool           |
 * | logicalAnd, logicalOr, logicalXor, logicalNot              | bool                                     | bool           |
 * | where                                                      | bool, then two of any plain dtype        | their dtype    |
 * | transpose, expand, slice, concat, stack, pad, gather, takeAlongAxis | any plain dtype (indices i32)     | the same       |
 * | scatter                                                    | any plain dtype; "add": f32 or i32       | the same       |
 * | sort, topK                                                 | f32                                      | f32            |
 * | argmax, argmin, argsort, topKIndices                       | f32                                      | i32            |
 * | cast                                                       | any plain dtype                          | any plain dtype |
 * | quantize, dequantize                                       | f32; a block type, f16 or bf16           | a block type; f32 |
 *
 * - i32 sums, differences and products wrap modulo 2^32 (two's complement).
 * - `cast` from a float to an integer truncates toward zero and saturates; NaN becomes 0. Between integers it keeps the low bits, as
 *   numpy does. To bool it is `x != 0` (NaN is true); from bool it is 0 or 1.
 * - Floats round to the nearest value, ties to even.
 * - Comparisons with NaN are false, except `notEqual`, which is true.
 */
export const numberTypes: readonly ScalarType[] = ["f32", "f16", "bf16", "i32", "u32", "i8", "u8"];

/** Every dtype except the block types. */
export const plainTypes: readonly ScalarType[] = [...numberTypes, "bool"];
