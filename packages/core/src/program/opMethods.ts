// Written by scripts/writeOpMethods.mjs from the files of src/ops; do not edit.

import type { ScalarType } from "../dtype.ts";
import type { abs } from "../ops/abs.ts";
import type { acos } from "../ops/acos.ts";
import type { acosh } from "../ops/acosh.ts";
import type { add } from "../ops/add.ts";
import type { all } from "../ops/all.ts";
import type { any } from "../ops/any.ts";
import type { arange } from "../ops/arange.ts";
import type { argmax } from "../ops/argmax.ts";
import type { argmin } from "../ops/argmin.ts";
import type { argsort } from "../ops/argsort.ts";
import type { asin } from "../ops/asin.ts";
import type { asinh } from "../ops/asinh.ts";
import type { assign } from "../ops/assign.ts";
import type { atan } from "../ops/atan.ts";
import type { atanh } from "../ops/atanh.ts";
import type { attention } from "../ops/attention.ts";
import type { avgPool2d } from "../ops/avgPool2d.ts";
import type { batchNorm } from "../ops/batchNorm.ts";
import type { cast } from "../ops/cast.ts";
import type { ceil } from "../ops/ceil.ts";
import type { clip } from "../ops/clip.ts";
import type { concat } from "../ops/concat.ts";
import type { conv1d } from "../ops/conv1d.ts";
import type { conv2d } from "../ops/conv2d.ts";
import type { copysign } from "../ops/copysign.ts";
import type { cos } from "../ops/cos.ts";
import type { cosh } from "../ops/cosh.ts";
import type { cumprod } from "../ops/cumprod.ts";
import type { cumsum } from "../ops/cumsum.ts";
import type { deltaScan } from "../ops/deltaScan.ts";
import type { deltaScanWrite } from "../ops/deltaScanWrite.ts";
import type { dequantize } from "../ops/dequantize.ts";
import type { div } from "../ops/div.ts";
import type { dot } from "../ops/dot.ts";
import type { element } from "../ops/element.ts";
import type { elu } from "../ops/elu.ts";
import type { embedding } from "../ops/embedding.ts";
import type { equal } from "../ops/equal.ts";
import type { exp } from "../ops/exp.ts";
import type { expand } from "../ops/expand.ts";
import type { eye } from "../ops/eye.ts";
import type { floor } from "../ops/floor.ts";
import type { fma } from "../ops/fma.ts";
import type { fract } from "../ops/fract.ts";
import type { full } from "../ops/full.ts";
import type { gather } from "../ops/gather.ts";
import type { gelu } from "../ops/gelu.ts";
import type { geluErf } from "../ops/geluErf.ts";
import type { greater } from "../ops/greater.ts";
import type { greaterEqual } from "../ops/greaterEqual.ts";
import type { groupNorm } from "../ops/groupNorm.ts";
import type { hardswish } from "../ops/hardswish.ts";
import type { kvWrite } from "../ops/kvWrite.ts";
import type { layerNorm } from "../ops/layerNorm.ts";
import type { leakyRelu } from "../ops/leakyRelu.ts";
import type { lerp } from "../ops/lerp.ts";
import type { less } from "../ops/less.ts";
import type { lessEqual } from "../ops/lessEqual.ts";
import type { log } from "../ops/log.ts";
import type { log2 } from "../ops/log2.ts";
import type { log10 } from "../ops/log10.ts";
import type { logicalAnd } from "../ops/logicalAnd.ts";
import type { logicalNot } from "../ops/logicalNot.ts";
import type { logicalOr } from "../ops/logicalOr.ts";
import type { logicalXor } from "../ops/logicalXor.ts";
import type { logSoftmax } from "../ops/logSoftmax.ts";
import type { matmul } from "../ops/matmul.ts";
import type { max } from "../ops/max.ts";
import type { maximum } from "../ops/maximum.ts";
import type { maxPool2d } from "../ops/maxPool2d.ts";
import type { mean } from "../ops/mean.ts";
import type { min } from "../ops/min.ts";
import type { minimum } from "../ops/minimum.ts";
import type { mish } from "../ops/mish.ts";
import type { moeMatmul } from "../ops/moeMatmul.ts";
import type { moeRoute } from "../ops/moeRoute.ts";
import type { moeWeights } from "../ops/moeWeights.ts";
import type { mul } from "../ops/mul.ts";
import type { neg } from "../ops/neg.ts";
import type { normL1 } from "../ops/normL1.ts";
import type { normL2 } from "../ops/normL2.ts";
import type { normLinf } from "../ops/normLinf.ts";
import type { notEqual } from "../ops/notEqual.ts";
import type { pad } from "../ops/pad.ts";
import type { pow } from "../ops/pow.ts";
import type { power } from "../ops/power.ts";
import type { prod } from "../ops/prod.ts";
import type { QuantizedType, quantize } from "../ops/quantize.ts";
import type { random } from "../ops/random.ts";
import type { reciprocal } from "../ops/reciprocal.ts";
import type { relu } from "../ops/relu.ts";
import type { reshape } from "../ops/reshape.ts";
import type { rmsNorm } from "../ops/rmsNorm.ts";
import type { rope } from "../ops/rope.ts";
import type { round } from "../ops/round.ts";
import type { rsqrt } from "../ops/rsqrt.ts";
import type { sample } from "../ops/sample.ts";
import type { scale } from "../ops/scale.ts";
import type { scatter } from "../ops/scatter.ts";
import type { selu } from "../ops/selu.ts";
import type { Gating } from "../ops/shared/gating.ts";
import type { Activations } from "../ops/shared/transposedProduct.ts";
import type { Pair } from "../ops/shared/windows.ts";
import type { sigmoid } from "../ops/sigmoid.ts";
import type { sign } from "../ops/sign.ts";
import type { silu } from "../ops/silu.ts";
import type { sin } from "../ops/sin.ts";
import type { sinh } from "../ops/sinh.ts";
import type { slice } from "../ops/slice.ts";
import type { softmax } from "../ops/softmax.ts";
import type { softplus } from "../ops/softplus.ts";
import type { sort } from "../ops/sort.ts";
import type { sqrt } from "../ops/sqrt.ts";
import type { ssmConv } from "../ops/ssmConv.ts";
import type { ssmConvWrite } from "../ops/ssmConvWrite.ts";
import type { ssmScan } from "../ops/ssmScan.ts";
import type { ssmScanWrite } from "../ops/ssmScanWrite.ts";
import type { stack } from "../ops/stack.ts";
import type { sub } from "../ops/sub.ts";
import type { sum } from "../ops/sum.ts";
import type { sumKahan } from "../ops/sumKahan.ts";
import type { takeAlongAxis } from "../ops/takeAlongAxis.ts";
import type { tan } from "../ops/tan.ts";
import type { tanh } from "../ops/tanh.ts";
import type { topK } from "../ops/topK.ts";
import type { topKIndices } from "../ops/topKIndices.ts";
import type { transpose } from "../ops/transpose.ts";
import type { trunc } from "../ops/trunc.ts";
import type { variance } from "../ops/variance.ts";
import type { where } from "../ops/where.ts";
import type { Dim, Shape } from "../spec.ts";

/** One method per op: `Handle` is the type of its tensors, `Result` what a call returns. */
export interface OpMethods<Handle, Result> {
  /**
   * Absolute value: `y = |x|`.
   * `x [...] -> y [...]`, f32.
   * See {@link abs}.
   * @throws {DTypeError} unless x is f32
   */
  abs(x: Handle): Result;

  /**
   * Arc cosine in radians: `y = acos(x)`; NaN outside [-1, 1].
   * `x [...] -> y [...]`, f32.
   * See {@link acos}.
   * @throws {DTypeError} unless x is f32
   */
  acos(x: Handle): Result;

  /**
   * Inverse hyperbolic cosine: `y = log(x + sqrt(x^2 - 1))`; NaN below 1.
   * `x [...] -> y [...]`, f32.
   * See {@link acosh}.
   * @throws {DTypeError} unless x is f32
   */
  acosh(x: Handle): Result;

  /**
   * Sum with broadcasting: `y = a + b`. i32 sums wrap.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * See {@link add}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  add(a: Handle, b: Handle): Result;

  /**
   * Whether every element along an axis is true. An empty axis gives true.
   *
   * `x [...] bool -> y [...] bool`. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1
   * (`keepDims`).
   * See {@link all}.
   * @throws {DTypeError} unless x is bool
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  all(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Whether at least one element along an axis is true. An empty axis gives false.
   *
   * `x [...] bool -> y [...] bool`. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1
   * (`keepDims`).
   * See {@link any}.
   * @throws {DTypeError} unless x is bool
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  any(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Evenly spaced numbers: `y[i] = start + i * step`.
   * `-> y [count]`, f32 or i32.
   *
   * Takes a count where numpy takes an end: with an end, the extent would depend on how a quotient rounds.
   * See {@link arange}.
   * @throws {ShapeError | ArgumentError} for a count that is no extent, and for numbers that the dtype cannot hold
   */
  arange(params: {
    /** Number of elements, which may be symbolic. */
    readonly count: Dim;
    /** The first number. @defaultValue 0 */
    readonly start?: number;
    /** Difference between neighbours. @defaultValue 1 */
    readonly step?: number;
    /** The dtype of the result. @defaultValue "f32" */
    readonly dtype?: "f32" | "i32";
  }): Result;

  /**
   * Index of the largest value along an axis, the first one among equals. As in numpy, NaN counts as the largest.
   * `x [...] f32 -> y [...] i32` without the axis. A symbolic axis that is empty in a run gives 0.
   * See {@link argmax}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  argmax(
    x: Handle,
    params?: {
      /** Axis to search. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Index of the smallest value along an axis, the first one among equals. As in numpy, NaN counts as the smallest.
   * `x [...] f32 -> y [...] i32` without the axis. A symbolic axis that is empty in a run gives 0.
   * See {@link argmin}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  argmin(
    x: Handle,
    params?: {
      /** Axis to search. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Indices that sort the values along an axis. Equal values keep their order; NaN counts as the largest value.
   * `x [...] f32 -> y [...] i32`.
   * See {@link argsort}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  argsort(
    x: Handle,
    params?: {
      /** Axis to sort. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** Whether the largest value comes first. @defaultValue false */
      readonly descending?: boolean;
    },
  ): Result;

  /**
   * Arc sine in radians: `y = asin(x)`; NaN outside [-1, 1].
   * `x [...] -> y [...]`, f32.
   * See {@link asin}.
   * @throws {DTypeError} unless x is f32
   */
  asin(x: Handle): Result;

  /**
   * Inverse hyperbolic sine: `y = log(x + sqrt(x^2 + 1))`.
   * `x [...] -> y [...]`, f32.
   * See {@link asinh}.
   * @throws {DTypeError} unless x is f32
   */
  asinh(x: Handle): Result;

  /**
   * Copies `value` into a persistent, or into some of its rows, and returns the persistent's next version.
   * `target [...], value [...] -> y [...]`, or `target [n, q...], value [m, q...], indices [m]? i32 -> y [n, q...]`, of one dtype, f32 or i32.
   *
   * Rows with the index -1 are skipped; all others should differ in their indices. Other indices outside `[0, n)` are an error on the scalar
   * reference; other backends skip them, too.
   * See {@link assign}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ProgramError} unless `target` is the newest version of a persistent
   * @throws {ArgumentError} for an index out of range, when the reference runs
   */
  assign(
    target: Handle,
    value: Handle,
    params?: {
      /** Optional tensor; see the shapes above. */
      readonly indices?: Handle;
    },
  ): Result;

  /**
   * Arc tangent in radians: `y = atan(x)`.
   * `x [...] -> y [...]`, f32.
   * See {@link atan}.
   * @throws {DTypeError} unless x is f32
   */
  atan(x: Handle): Result;

  /**
   * Inverse hyperbolic tangent: `y = log((1 + x) / (1 - x)) / 2`; infinite at 1 and -1, NaN outside [-1, 1].
   * `x [...] -> y [...]`, f32.
   * See {@link atanh}.
   * @throws {DTypeError} unless x is f32
   */
  atanh(x: Handle): Result;

  /**
   * Attention (Vaswani et al., 2017) over a paged cache (Kwon et al., 2023) that `kvWrite` filled: `y = sum(softmax(score) * v)`.
   *
   * `q [T, H, dK], cache [S, Hkv, dK + dV] f32 | f16 | q8_0, positions [T] i32, seqOf [T] i32, blockTable [nSeq, maxBlocks] i32, seqLens
   * [nSeq] i32, sinks [H]?, bias [H, 2R + 1]? -> y [T, H, dV]`, f32. A single sequence has the block table `[[0]]` and `blockSize = S`.
   *
   * - Query `t` belongs to sequence `s = seqOf[t]` and sees positions `j` in `[0, seqLens[s])`. With `causal` it sees none after
   *   `positions[t]`; with a window, only `j > positions[t] - window`. A query that sees nothing gives 0.
   * - Position `j` is stored in slot `blockTable[s, floor(j / blockSize)] * blockSize + j % blockSize`.
   * - Head `h` reads head `floor(h * Hkv / H)` of the cache.
   * - `score = scale * q . k`, then the soft cap, then `- slope(h) * |j - positions[t]|` with ALiBi.
   * - `bias` is added to the scores by the distance of a position from the query: `bias[h, R]` at the query's own, `bias[h, R + n]` to the
   *   n-th position after it, and those of distance `R` to all that are further away.
   * - `sinks[h]` is an additional logit of the softmax, without a value.
   *
   * Indices outside the tables are an error on the scalar reference; other backends treat such positions as not seen.
   * See {@link attention}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if an option is out of range, and for bad indices when the reference runs
   */
  attention(
    q: Handle,
    cache: Handle,
    positions: Handle,
    seqOf: Handle,
    blockTable: Handle,
    seqLens: Handle,
    params: {
      /** Factor of `q . k`, usually `1 / sqrt(dK)`. */
      readonly scale: number;
      /** Positions per block of the block table. */
      readonly blockSize: number;
      /** Whether a query sees no position after its own. @defaultValue true */
      readonly causal?: boolean;
      /** Number of positions that a query sees, up to and including its own; 0 means all. @defaultValue 0 */
      readonly window?: number;
      /** Soft cap: scores become `softcap * tanh(score / softcap)`. 0 means no cap. @defaultValue 0 */
      readonly softcap?: number;
      /** Largest bias of ALiBi (ggml's `max_bias`); 0 means none. @defaultValue 0 */
      readonly alibi?: number;
      /** Precision of the operands of both products: "half" permits a backend to round them to f16, as in `matmul`. @defaultValue "f32" */
      readonly activations?: "f32" | "half";
      /** Optional tensor; see the shapes above. */
      readonly sinks?: Handle;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * Average pooling: the mean of each window.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, with `H' = floor((H + 2 padding - kernel) / stride) + 1`, and `W'` likewise.
   * See {@link avgPool2d}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} unless x has four axes and the kernel fits into the padded image
   * @throws {ArgumentError} if an option is out of range
   */
  avgPool2d(
    x: Handle,
    params: {
      /** Extents of a window. */
      readonly kernel: Pair;
      /** Distance between windows; null means the kernel's size, so that windows do not overlap. @defaultValue null */
      readonly stride?: Pair | null;
      /** Elements added on each of the two sides of an axis, at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
      readonly padding?: Pair;
      /** Whether the padding's zeros count: true divides by the kernel's size everywhere, as PyTorch does by default. @defaultValue true */
      readonly countPadding?: boolean;
    },
  ): Result;

  /**
   * Batch norm (Ioffe & Szegedy, 2015) with stored statistics, as in inference:
   * `y = (x - mean[c]) / sqrt(variance[c] + eps) * w[c] + bias[c]`.
   * `x [N, C, ...], mean [C], variance [C], w [C], bias [C] -> y [N, C, ...]`, f32.
   * See {@link batchNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `eps` is negative or not finite
   */
  batchNorm(
    x: Handle,
    mean: Handle,
    variance: Handle,
    w: Handle,
    bias: Handle,
    params: {
      /** Added to the variance, which avoids a division by zero. */
      readonly eps: number;
    },
  ): Result;

  /**
   * Converts values to another plain dtype.
   * `x [...] -> y [...]`, from and to any plain dtype. For block types use `quantize` and `dequantize`.
   *
   * - Float to integer truncates toward zero and saturates; NaN becomes 0.
   * - Integer to integer keeps the low bits.
   * - To bool: `x != 0`, so NaN is true. From bool: 0 or 1.
   * - To f16 and bf16 rounds to the nearest f32 first, then to the nearest value of the type, ties to even.
   * See {@link cast}.
   * @throws {DTypeError | ArgumentError} if x or `dtype` is not a plain dtype
   */
  cast(
    x: Handle,
    params: {
      /** The dtype of the result. */
      readonly dtype: ScalarType;
    },
  ): Result;

  /**
   * Rounds up to a whole number: `y = ceil(x)`.
   * `x [...] -> y [...]`, f32.
   * See {@link ceil}.
   * @throws {DTypeError} unless x is f32
   */
  ceil(x: Handle): Result;

  /**
   * Limits values to a range: `y = min(max(x, min), max)`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * See {@link clip}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if a bound is NaN, or `min` is above `max`
   */
  clip(
    x: Handle,
    params: {
      /** Lower bound. */
      readonly min: number;
      /** Upper bound, at least `min`. */
      readonly max: number;
    },
  ): Result;

  /**
   * Joins one or more tensors along an axis.
   * `tensors[i] [..., n_i, ...] -> y [..., n_0 + n_1 + ..., ...]`, of one plain dtype. All other extents must be equal.
   * See {@link concat}.
   * @throws {ShapeError} if other extents differ, the joined axis is symbolic, or the tensors are scalars
   * @throws {DTypeError} unless all tensors have one plain dtype
   * @throws {ArgumentError} if the tensors have no such axis
   */
  concat(
    tensors: readonly Handle[],
    params: {
      /** Axis to join along. A negative axis counts from the end. */
      readonly axis: number;
    },
  ): Result;

  /**
   * Cross-correlation along one axis: `y[n, o, i] = sum(c, p) x[n, c, i * stride + p * dilation - padding] * w[o, c, p]`. Outside `x` the
   * values are 0.
   * `x [N, C, L], w [O, C / groups, k] -> y [N, O, L']`, f32, with `L' = floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1`.
   * See {@link conv1d}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or the kernel does not fit into the padded x
   * @throws {ArgumentError} if an option is out of range, or `groups` does not divide C and O
   */
  conv1d(
    x: Handle,
    w: Handle,
    params?: {
      /** Distance between windows. @defaultValue 1 */
      readonly stride?: number;
      /** Zeros added on each of the two sides. For unequal sides, e.g. in a causal convolution, use `pad` first. @defaultValue 0 */
      readonly padding?: number;
      /** Distance between the elements of `x` that one window reads. @defaultValue 1 */
      readonly dilation?: number;
      /** Number of groups. Output channels of a group see only the input channels of the same group. @defaultValue 1 */
      readonly groups?: number;
    },
  ): Result;

  /**
   * Cross-correlation over two axes, which deep-learning libraries call convolution:
   * `y[n, o, i, j] = sum(c, p, q) x[n, c, i * stride + p * dilation - padding, ...] * w[o, c, p, q]`. Outside `x` the values are 0.
   * `x [N, C, H, W], w [O, C / groups, kh, kw] -> y [N, O, H', W']`, f32, with
   * `H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1`, and `W'` likewise.
   * See {@link conv2d}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or the kernel does not fit into the padded x
   * @throws {ArgumentError} if an option is out of range, or `groups` does not divide C and O
   */
  conv2d(
    x: Handle,
    w: Handle,
    params?: {
      /** Distance between windows. @defaultValue [1,1] */
      readonly stride?: Pair;
      /** Zeros added on each of the two sides of an axis. @defaultValue [0,0] */
      readonly padding?: Pair;
      /** Distance between the elements of `x` that one window reads. @defaultValue [1,1] */
      readonly dilation?: Pair;
      /** Number of groups. Output channels of a group see only the input channels of the same group. @defaultValue 1 */
      readonly groups?: number;
    },
  ): Result;

  /**
   * Magnitude of `a` with the sign bit of `b`: a `b` of -0 makes the result negative.
   * `a [...], b [...] -> y [...]` with broadcasting, f32.
   * See {@link copysign}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32
   */
  copysign(a: Handle, b: Handle): Result;

  /**
   * Cosine: `y = cos(x)`, with x in radians.
   * `x [...] -> y [...]`, f32.
   * See {@link cos}.
   * @throws {DTypeError} unless x is f32
   */
  cos(x: Handle): Result;

  /**
   * Hyperbolic cosine: `y = (exp(x) + exp(-x)) / 2`.
   * `x [...] -> y [...]`, f32.
   * See {@link cosh}.
   * @throws {DTypeError} unless x is f32
   */
  cosh(x: Handle): Result;

  /**
   * Cumulative product along an axis: `y[i] = x[0] * ... * x[i]`.
   * `x [...] -> y [...]`, f32.
   * See {@link cumprod}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  cumprod(
    x: Handle,
    params?: {
      /** Axis to accumulate along. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Cumulative sum along an axis: `y[i] = x[0] + ... + x[i]`.
   * `x [...] -> y [...]`, f32.
   * See {@link cumsum}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  cumsum(
    x: Handle,
    params?: {
      /** Axis to accumulate along. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Linear attention whose state forgets by decays and by one direction per token: the generalized delta rule (Peng et al., 2025, "RWKV-7
   * Goose"). Each token updates the state `s [V, K]` of a head, then reads it:
   * `s = s · diag(decay[t, h]) + (s · a[t, h]) · b[t, h]ᵀ + v[t, h] · k[t, h]ᵀ`, both on the right the state before the token,
   * `y[t, h] = s · q[t, h]`.
   *
   * Gated DeltaNet (Yang, Kautz & Hatamizadeh, 2024, equation 10) with gates α and β, α a number per head: `decay = α, a = k, b = -α · β · k`,
   * `v = β · v`. Kimi Delta Attention has an α per element: `decay = α, a = α · k, b = -β · k, v = β · v`.
   *
   * `q, k, a, b [T, H, K], v [T, H, V], decay [T, H, K] or [T, H, 1], state [S, H, V, K], positions [T] i32, rows [T] i32 -> y [T, H, V]`,
   * f32.
   *
   * A sequence continues from row `rows[t]` of the state, where `deltaScanWrite` left it. At position 0 it starts from 0, so a state needs
   * no reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
   * See {@link deltaScan}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  deltaScan(q: Handle, k: Handle, v: Handle, decay: Handle, a: Handle, b: Handle, state: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Advances the states of sequences over the given tokens, as `deltaScan` does, and returns the state's next version.
   * `state [S, H, V, K], k, a, b [T, H, K], v [T, H, V], decay [T, H, K] or [T, H, 1], positions [T] i32, rows [T] i32 -> state`, f32.
   *
   * Sequences must have different rows. A row outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
   * See {@link deltaScanWrite}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ProgramError} unless `state` is the newest version of a persistent
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  deltaScanWrite(state: Handle, k: Handle, v: Handle, decay: Handle, a: Handle, b: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Decodes a block type, f16 or bf16 to f32. The result is exact.
   * `x [...] -> y [...] f32`.
   * See {@link dequantize}.
   * @throws {DTypeError} if x is f32, an integer or bool
   */
  dequantize(x: Handle): Result;

  /**
   * Quotient with broadcasting: `y = a / b`. Division by zero gives an infinity or NaN.
   * `a [...], b [...] -> y [...]` with broadcasting, f32.
   * See {@link div}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32
   */
  div(a: Handle, b: Handle): Result;

  /**
   * Inner product of two vectors: `y = sum(a * b)`.
   * `a [n], b [n] -> y []`, f32.
   * See {@link dot}.
   * @throws {ShapeError | DTypeError} unless both are f32 vectors of one length
   */
  dot(a: Handle, b: Handle): Result;

  /**
   * One element of a tensor as a scalar that later ops can read: `y = x.flat[index]`.
   * `x [...] -> y []`, f32 or i32. The scalar is a copy: it keeps its value when `x` is written later.
   * See {@link element}.
   * @throws {DTypeError} unless x is f32 or i32
   * @throws {ArgumentError} if `index` is outside x, for symbolic extents when the program runs
   */
  element(
    x: Handle,
    params: {
      /** Row-major index of the element. */
      readonly index: number;
    },
  ): Result;

  /**
   * Exponential linear unit (Clevert et al., 2015): `y = x` for `x >= 0`, else `alpha * (exp(x) - 1)`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * See {@link elu}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `alpha` is not finite
   */
  elu(
    x: Handle,
    params?: {
      /** Scale of negative values: large negative inputs approach `-alpha`. @defaultValue 1 */
      readonly alpha?: number;
    },
  ): Result;

  /**
   * Looks up rows of a table: `y[..., :] = table[ids[...], :]`.
   * `table [V, d], ids [...] i32 -> y [..., d] f32`. The table is f32, f16, bf16 or a block type; it may also be a tensor of activations.
   *
   * An id outside `[0, V)` is an error on the scalar reference; other backends write a row of zeros and never read outside the table.
   * See {@link embedding}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for an id out of range, when the reference runs
   */
  embedding(table: Handle, ids: Handle): Result;

  /**
   * Whether elements are equal: `y = a == b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * See {@link equal}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  equal(a: Handle, b: Handle): Result;

  /**
   * Exponential function: `y = e^x`.
   * `x [...] -> y [...]`, f32.
   * See {@link exp}.
   * @throws {DTypeError} unless x is f32
   */
  exp(x: Handle): Result;

  /**
   * Repeats `x` to a larger shape by the broadcasting rule.
   * `x [...] -> y [...shape]`, any plain dtype.
   * See {@link expand}.
   * @throws {ShapeError} if x does not broadcast to `shape`
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ArgumentError} if `shape` is not a list of extents
   */
  expand(
    x: Handle,
    params: {
      /** Shape of the result. Axes align at the last one; an extent of 1 of `x` may grow, and axes may be added in front. */
      readonly shape: Shape;
    },
  ): Result;

  /**
   * Identity matrix: ones on the main diagonal, zeros elsewhere.
   * `-> y [rows, columns]`, f32.
   * See {@link eye}.
   * @throws {ArgumentError} unless `rows` and `columns` are whole numbers from 0
   */
  eye(params: {
    /** Number of rows. */
    readonly rows: number;
    /** Number of columns; null means the number of rows. @defaultValue null */
    readonly columns?: number | null;
  }): Result;

  /**
   * Rounds down to a whole number: `y = floor(x)`.
   * `x [...] -> y [...]`, f32.
   * See {@link floor}.
   * @throws {DTypeError} unless x is f32
   */
  floor(x: Handle): Result;

  /**
   * Multiplies and adds: `y = a * b + c`. Backends may round the product before they add.
   * `a [...], b [...], c [...] -> y [...]` with broadcasting, f32.
   * See {@link fma}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless all inputs are f32
   */
  fma(a: Handle, b: Handle, c: Handle): Result;

  /**
   * Fractional part as in shading languages: `y = x - floor(x)`, in [0, 1). Infinities give NaN.
   * `x [...] -> y [...]`, f32.
   * See {@link fract}.
   * @throws {DTypeError} unless x is f32
   */
  fract(x: Handle): Result;

  /**
   * Tensor with the same value in every element.
   * `-> y [...shape]`, any plain dtype.
   * See {@link full}.
   * @throws {ShapeError | ArgumentError} if `shape` is not a list of extents, or the dtype cannot hold the value
   */
  full(params: {
    /** Shape of the result. */
    readonly shape: Shape;
    /** Value of every element, which `dtype` must be able to represent. */
    readonly value: number;
    /** Dtype of the result, any plain dtype. @defaultValue "f32" */
    readonly dtype?: ScalarType;
  }): Result;

  /**
   * Picks slices along an axis by index, like numpy's `take`: `y[..., i..., ...] = x[..., indices[i...], ...]`.
   * `x [p..., n, q...], indices [i...] i32, fallback [p..., i..., q...]? -> y [p..., i..., q...]`, any plain dtype. To pick rows of a
   * quantised table use `embedding`.
   *
   * An index outside `[0, n)` picks the slice of `fallback`. Without one, it is an error on the scalar reference.
   * See {@link gather}.
   * @throws {DTypeError} unless x has a plain dtype, which the fallback shares, and `indices` is i32
   * @throws {ShapeError} if x is a scalar, or the fallback has another shape than the result
   * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs without a fallback
   */
  gather(
    x: Handle,
    indices: Handle,
    params?: {
      /** Axis to pick along. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
      /** Optional tensor; see the shapes above. */
      readonly fallback?: Handle;
    },
  ): Result;

  /**
   * Gaussian error linear unit (Hendrycks & Gimpel, 2016), tanh form: `y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
   * `x [...] -> y [...]`, f32. `geluErf` is the exact form.
   * See {@link gelu}.
   * @throws {DTypeError} unless x is f32
   */
  gelu(x: Handle): Result;

  /**
   * Gaussian error linear unit (Hendrycks & Gimpel, 2016), exact form: `y = 0.5 * x * (1 + erf(x / sqrt(2)))`.
   * `x [...] -> y [...]`, f32. `gelu` is the tanh form.
   * See {@link geluErf}.
   * @throws {DTypeError} unless x is f32
   */
  geluErf(x: Handle): Result;

  /**
   * Whether `a` is larger: `y = a > b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * See {@link greater}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  greater(a: Handle, b: Handle): Result;

  /**
   * Whether `a` is at least as large: `y = a >= b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * See {@link greaterEqual}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  greaterEqual(a: Handle, b: Handle): Result;

  /**
   * Group norm (Wu & He, 2018): normalises each group of channels to mean 0 and variance 1, then scales and shifts each channel:
   * `y = (x - mean) / sqrt(variance + eps) * w[c] + bias[c]`.
   * `x [N, C, ...], w [C], bias [C]? -> y [N, C, ...]`, f32.
   *
   * Mean and variance are taken over one group of one item. The variance is the population's, computed in two passes.
   * See {@link groupNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `groups` does not divide C, or `eps` is negative or not finite
   */
  groupNorm(
    x: Handle,
    w: Handle,
    params: {
      /** Number of groups of adjacent channels: 1 normalises over all C channels, C gives an instance norm. */
      readonly groups: number;
      /** Added to the variance, which avoids a division by zero. */
      readonly eps: number;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * Hard swish (Howard et al., 2019): `y = x * min(max(x + 3, 0), 6) / 6`. The result is 0 up to -3 and x from 3.
   * `x [...] -> y [...]`, f32.
   * See {@link hardswish}.
   * @throws {DTypeError} unless x is f32
   */
  hardswish(x: Handle): Result;

  /**
   * Stores the keys and values of T tokens in a cache and returns the cache's next version: `cache[slots[t], h] = [k[t, h], v[t, h]]`.
   * `cache [S, Hkv, dK + dV] f32 | f16 | q8_0, k [T, Hkv, dK] f32, v [T, Hkv, dV] f32, slots [T] i32 -> cache`.
   *
   * Slots of one call should differ: which of two tokens with the same slot is kept is undefined. A slot outside `[0, S)` is an error on the
   * scalar reference; other backends skip the token.
   * See {@link kvWrite}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ProgramError} unless `cache` is the newest version of a persistent
   * @throws {ArgumentError} for a slot out of range, when the reference runs
   */
  kvWrite(cache: Handle, k: Handle, v: Handle, slots: Handle): Result;

  /**
   * Layer norm over the last axis (Ba et al., 2016): `y = (x - mean(x)) / sqrt(variance(x) + eps) * w + bias`.
   * `x [..., n], w [n], bias [n]? -> y [..., n]`, f32. The variance is the population's, computed in two passes.
   * See {@link layerNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `eps` is negative or not finite
   */
  layerNorm(
    x: Handle,
    w: Handle,
    params: {
      /** Added to the variance, which avoids a division by zero. */
      readonly eps: number;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * Leaky rectified linear unit: `y = x` for `x >= 0`, else `slope * x`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * See {@link leakyRelu}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `slope` is not finite
   */
  leakyRelu(
    x: Handle,
    params?: {
      /** Factor of negative inputs. @defaultValue 0.01 */
      readonly slope?: number;
    },
  ): Result;

  /**
   * Linear interpolation: `y = a + t * (b - a)`. `t` may be outside [0, 1].
   * `a [...], b [...], t [...] -> y [...]` with broadcasting, f32.
   * See {@link lerp}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless all inputs are f32
   */
  lerp(a: Handle, b: Handle, t: Handle): Result;

  /**
   * Whether `a` is smaller: `y = a < b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * See {@link less}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  less(a: Handle, b: Handle): Result;

  /**
   * Whether `a` is at most as large: `y = a <= b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * See {@link lessEqual}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  lessEqual(a: Handle, b: Handle): Result;

  /**
   * Natural logarithm: `y = log(x)`; -Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * See {@link log}.
   * @throws {DTypeError} unless x is f32
   */
  log(x: Handle): Result;

  /**
   * Base-10 logarithm: `y = log10(x)`; -Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * See {@link log10}.
   * @throws {DTypeError} unless x is f32
   */
  log10(x: Handle): Result;

  /**
   * Base-2 logarithm: `y = log2(x)`; -Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * See {@link log2}.
   * @throws {DTypeError} unless x is f32
   */
  log2(x: Handle): Result;

  /**
   * Logarithm of the softmax along an axis: `y = x - max(x) - log(sum(exp(x - max(x))))`.
   * `x [...] -> y [...]`, f32. As in PyTorch, a line of only -Infinity gives NaN.
   * See {@link logSoftmax}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  logSoftmax(
    x: Handle,
    params?: {
      /** Axis that the softmax normalises. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Logical and: `y = a && b`.
   * `a [...], b [...] -> y [...]` with broadcasting, all bool.
   * See {@link logicalAnd}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are bool
   */
  logicalAnd(a: Handle, b: Handle): Result;

  /**
   * Logical negation: `y = !x`.
   * `x [...] bool -> y [...] bool`.
   * See {@link logicalNot}.
   * @throws {DTypeError} unless x is bool
   */
  logicalNot(x: Handle): Result;

  /**
   * Logical or: `y = a || b`.
   * `a [...], b [...] -> y [...]` with broadcasting, all bool.
   * See {@link logicalOr}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are bool
   */
  logicalOr(a: Handle, b: Handle): Result;

  /**
   * Exclusive or: `y = a != b`.
   * `a [...], b [...] -> y [...]` with broadcasting, all bool.
   * See {@link logicalXor}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are bool
   */
  logicalXor(a: Handle, b: Handle): Result;

  /**
   * Matrix product with broadcast batch axes.
   * `a [..., m, k], b [..., k, n] -> y [..., m, n]`, f32. `b` may also be f16, bf16 or a block type; a block type needs `transposeB`,
   * because its blocks run along k.
   * See {@link matmul}.
   * @throws {ShapeError} if the inner extents differ, a rank is below 2, or the batch axes do not broadcast
   * @throws {DTypeError} if `a` is not f32, or `b` is an integer or bool
   * @throws {ArgumentError} for an unknown option, and for a quantised `b` without `transposeB`
   */
  matmul(
    a: Handle,
    b: Handle,
    params?: {
      /** Whether `a` is stored as `[..., k, m]`. @defaultValue false */
      readonly transposeA?: boolean;
      /** Whether `b` is stored as `[..., n, k]`, as weights are in GGUF files. A quantised `b` must be. @defaultValue false */
      readonly transposeB?: boolean;
      /**
       * Precision of the operands. Sums are f32 in every mode.
       *
       * - "f32" multiplies exact activations with the dequantised weights.
       * - "half" permits a backend to round both operands to f16, or to bf16 for bf16 weights, as tensor cores do. Rows that would overflow
       *   are scaled by a power of two. A result differs from the exact one by at most `2^-10` (bf16: `2^-7`) times the sum of the
       *   products' magnitudes. A backend may also compute exactly, as the reference does.
       * - "ggml" first rounds each row of `a` as ggml's CPU code does. For a quantised `b` it rounds to the 8-bit blocks that ggml pairs with
       *   that type, which changes results by about 1e-2 relative. For f16 and bf16 it rounds to the type of `b`. For f32 it equals "f32".
       *   A backend may then round the operands as for "half", which changes much less.
       * @defaultValue "f32"
       */
      readonly activations?: Activations;
    },
  ): Result;

  /**
   * Largest value along an axis; NaN if any element is NaN. A symbolic axis that is empty in a run gives -Infinity.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link max}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  max(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Max pooling: the largest value of each window, NaN if the window contains NaN. Padding never counts.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, with `H' = floor((H + 2 padding - kernel) / stride) + 1`, and `W'` likewise.
   * See {@link maxPool2d}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} unless x has four axes and the kernel fits into the padded image
   * @throws {ArgumentError} if an option is out of range
   */
  maxPool2d(
    x: Handle,
    params: {
      /** Extents of a window. */
      readonly kernel: Pair;
      /** Distance between windows; null means the kernel's size, so that windows do not overlap. @defaultValue null */
      readonly stride?: Pair | null;
      /** Elements added on each of the two sides of an axis, at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
      readonly padding?: Pair;
    },
  ): Result;

  /**
   * The larger of two elements: `y = max(a, b)`; NaN if either is NaN.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * See {@link maximum}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  maximum(a: Handle, b: Handle): Result;

  /**
   * Mean along an axis: `sum(x) / n`. A symbolic axis that is empty in a run gives NaN.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link mean}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  mean(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Smallest value along an axis; NaN if any element is NaN. A symbolic axis that is empty in a run gives Infinity.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link min}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  min(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * The smaller of two elements: `y = min(a, b)`; NaN if either is NaN.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * See {@link minimum}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  minimum(a: Handle, b: Handle): Result;

  /**
   * Mish activation (Misra, 2019): `y = x * tanh(log(1 + exp(x)))`.
   * `x [...] -> y [...]`, f32.
   * See {@link mish}.
   * @throws {DTypeError} unless x is f32
   */
  mish(x: Handle): Result;

  /**
   * Multiplies each token by the matrices of its chosen experts: `y[t, i] = experts[ids[t, i]] · x[t, i]`.
   * `x [T, K] or [T, k, K], experts [E, N, K], ids [T, k] i32 -> y [T, k, N]`, f32. `x [T, K]` has one vector for all experts of a token.
   * `experts` may also be f16, bf16 or a block type.
   *
   * An id outside `[0, E)` is an error on the scalar reference; other backends give zeros.
   * See {@link moeMatmul}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for an unknown option, and for an id out of range when the reference runs
   */
  moeMatmul(
    x: Handle,
    experts: Handle,
    ids: Handle,
    params?: {
      /** Precision of the operands; see the `matmul` op. @defaultValue "f32" */
      readonly activations?: Activations;
    },
  ): Result;

  /**
   * Chooses the `k` experts with the highest scores for each token, best first. The lower index comes first among equals; NaN counts as the
   * lowest score.
   * `logits [T, E], bias [E]? -> ids [T, k] i32`, with f32 inputs.
   *
   * An expert's score is its gate (see `moeWeights`) plus the bias. The bias has no part in the weights (DeepSeek-AI, 2024, "DeepSeek-V3",
   * section 2.1.2).
   * See {@link moeRoute}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or `groups` does not divide E
   * @throws {ArgumentError} if an option is out of range
   */
  moeRoute(
    logits: Handle,
    params: {
      /** Number of experts per token. */
      readonly k: number;
      /** How logits become scores, before the bias is added. @defaultValue "softmax" */
      readonly gating?: Gating;
      /** Number of equal groups of experts, of which a token uses `topKGroups`. 1 means no groups. @defaultValue 1 */
      readonly groups?: number;
      /** Number of groups that a token uses: those whose two best scores have the largest sums. @defaultValue 1 */
      readonly topKGroups?: number;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * Weights of chosen experts: `y[t, i]` is the gate of expert `ids[t, i]`.
   * `logits [T, E], ids [T, k] i32 -> y [T, k]`, f32.
   *
   * An id outside `[0, E)` is an error on the scalar reference; on other backends its weight is undefined.
   * See {@link moeWeights}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if an option is out of range, and for an id out of range when the reference runs
   */
  moeWeights(
    logits: Handle,
    ids: Handle,
    params?: {
      /** How logits become gates, the same as in `moeRoute`; see {@link Gating}. @defaultValue "softmax" */
      readonly gating?: Gating;
      /** Whether a token's weights are divided by their sum, or by 2^-14 if the sum is less (ggml's guard against division by zero). @defaultValue false */
      readonly normalize?: boolean;
      /** Factor of the weights, applied last. @defaultValue 1 */
      readonly scale?: number;
    },
  ): Result;

  /**
   * Product with broadcasting: `y = a * b`. i32 products wrap.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * See {@link mul}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  mul(a: Handle, b: Handle): Result;

  /**
   * Negation: `y = -x`.
   * `x [...] -> y [...]`, f32.
   * See {@link neg}.
   * @throws {DTypeError} unless x is f32
   */
  neg(x: Handle): Result;

  /**
   * L1 norm along an axis: `sum(|x|)`. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link normL1}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  normL1(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * L2 norm along an axis: `sqrt(sum(x^2))`. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link normL2}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  normL2(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Maximum norm along an axis: `max(|x|)`; NaN if any element is NaN. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link normLinf}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  normLinf(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Whether elements differ: `y = a != b`; true if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * See {@link notEqual}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  notEqual(a: Handle, b: Handle): Result;

  /**
   * Adds elements of a constant value before and after each axis.
   * `x [n, ...] -> y [before + n + after, ...]`, any plain dtype.
   * See {@link pad}.
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ShapeError} if a padded axis is symbolic
   * @throws {ArgumentError} unless `pads` has one pair per axis and the dtype can hold the value
   */
  pad(
    x: Handle,
    params: {
      /** One pair per axis: the number of elements to add before and after. */
      readonly pads: readonly (readonly [before: number, after: number])[];
      /** Value of the added elements, which the dtype of `x` must be able to represent. @defaultValue 0 */
      readonly value?: number;
    },
  ): Result;

  /**
   * Power with a constant exponent: `y = x^exponent`, by the rules of IEEE 754. `power` takes a tensor of exponents.
   * `x [...] -> y [...]`, f32.
   * See {@link pow}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `exponent` is NaN
   */
  pow(
    x: Handle,
    params: {
      /** Exponent, which may be infinite. */
      readonly exponent: number;
    },
  ): Result;

  /**
   * Power of two tensors: `y = a^b`, by the rules of IEEE 754. `pow` has a constant exponent.
   * `a [...], b [...] -> y [...]` with broadcasting, f32.
   *
   * A negative base with a fractional exponent gives NaN. `a = 1` or `b = 0` gives 1, even if the other is NaN.
   * See {@link power}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32
   */
  power(a: Handle, b: Handle): Result;

  /**
   * Product along an axis. An empty axis gives 1.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link prod}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  prod(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Rounds values to quantised blocks along the last axis, bit for bit as ggml does.
   * `x [..., n] f32 -> y [..., n]` of a block type, with n a multiple of the block's elements. For f16 and bf16 use `cast`.
   *
   * Values must be finite: the scalar reference throws, and other backends store NaN as the scale of an affected block. The remaining block
   * types can only be read, with `dequantize`.
   * See {@link quantize}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if the last axis does not hold whole blocks
   * @throws {ArgumentError} if `dtype` cannot be written, and for values that are not finite when the reference runs
   */
  quantize(
    x: Handle,
    params?: {
      /** Block type of the result. @defaultValue "q8_0" */
      readonly dtype?: QuantizedType;
    },
  ): Result;

  /**
   * Random numbers from a counter: the same seed gives the same numbers on every backend.
   * `draw []? -> y [...shape]`, f32. `draw` is an i32 scalar, 0 if left out. A plan repeats its numbers in every run unless `draw` changes.
   *
   * Element i is made from word `i % 4` of Philox4x32-10 (Salmon et al., 2011) with the 64-bit key `seed` and the counter
   * `[floor(i / 4) low, floor(i / 4) high, draw, 0]`.
   *
   * - Uniform: `(word >>> 8) * 2^-24`.
   * - Normal: pairs of words by the Box–Muller transform, `sqrt(-2 log(u + 2^-24)) * (cos, sin)(2 pi v)`.
   * See {@link random}.
   * @throws {ShapeError | DTypeError} unless `draw` is an i32 scalar
   * @throws {ArgumentError} if an option is out of range
   */
  random(params: {
    /** Shape of the result. */
    readonly shape: Shape;
    /** Whole number from 0. The same seed gives the same numbers everywhere. */
    readonly seed: number;
    /** "uniform": multiples of 2^-24 in [0, 1). "normal": mean 0 and variance 1. @defaultValue "uniform" */
    readonly distribution?: "uniform" | "normal";
    /** Optional tensor; see the shapes above. */
    readonly draw?: Handle;
  }): Result;

  /**
   * Reciprocal: `y = 1 / x`; infinite at 0.
   * `x [...] -> y [...]`, f32.
   * See {@link reciprocal}.
   * @throws {DTypeError} unless x is f32
   */
  reciprocal(x: Handle): Result;

  /**
   * Rectified linear unit: `y = max(x, 0)`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * See {@link relu}.
   * @throws {DTypeError} unless x is f32
   */
  relu(x: Handle): Result;

  /**
   * The same elements, in row-major order, with another shape. Nothing is copied or computed.
   * `x [...] -> y [...shape]`, any plain dtype.
   * See {@link reshape}.
   * @throws {ShapeError} if the number of elements would change
   * @throws {DTypeError} if x has a block type
   * @throws {ArgumentError} if `shape` is not a list of extents
   */
  reshape(
    x: Handle,
    params: {
      /** Shape of the result. It has the symbolic dims of `x` and the same product of the remaining extents. */
      readonly shape: Shape;
    },
  ): Result;

  /**
   * Root-mean-square norm over the last axis (Zhang & Sennrich, 2019): `y = x / sqrt(mean(x^2) + eps) * w`.
   * `x [..., n], w [n] -> y [..., n]`, f32.
   * See {@link rmsNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `eps` is negative or not finite
   */
  rmsNorm(
    x: Handle,
    w: Handle,
    params: {
      /** Added to the mean of squares, which avoids a division by zero. */
      readonly eps: number;
    },
  ): Result;

  /**
   * Rotary position embedding (Su et al., 2021): rotates pair `i` of each head by
   * `angle(t, i) = positions[t] * scale * base^(-2i / dims) / freqFactors[i]`, which maps `(p, q)` to `(p cos - q sin, p sin + q cos)`.
   * `x [T, H, D], positions [T] i32, freqFactors [dims / 2]? -> y [T, H, D]`, f32. Elements from `dims` on are copied. Without `freqFactors`
   * every factor is 1.
   * See {@link rope}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if an option is out of range, or `dims` is odd
   */
  rope(
    x: Handle,
    positions: Handle,
    params: {
      /** Number of leading elements of each head to rotate, an even number; 0 means all. @defaultValue 0 */
      readonly dims?: number;
      /** Base of the geometric series of frequencies. @defaultValue 10000 */
      readonly base?: number;
      /** Elements that form pair `i`, with llama.cpp's names: `2i` and `2i + 1` for "norm", `i` and `i + dims / 2` for "neox". */
      readonly ropeType: "norm" | "neox";
      /** Factor of the positions: 0.5 doubles the context by linear scaling. @defaultValue 1 */
      readonly scale?: number;
      /** Optional tensor; see the shapes above. */
      readonly freqFactors?: Handle;
    },
  ): Result;

  /**
   * Rounds to the nearest whole number, ties to even, as in numpy and IEEE 754.
   * `x [...] -> y [...]`, f32.
   * See {@link round}.
   * @throws {DTypeError} unless x is f32
   */
  round(x: Handle): Result;

  /**
   * Reciprocal square root: `y = 1 / sqrt(x)`; Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * See {@link rsqrt}.
   * @throws {DTypeError} unless x is f32
   */
  rsqrt(x: Handle): Result;

  /**
   * Draws an index from each row of logits. The options are tensors with a value for each row, so rows of different users share a program.
   * `logits [..., n] f32, position [...] i32, seed [..., 2] i32, temperature [...] f32, topK [...] i32, topP [...] f32, minP [...] f32,
   * mask [m, ceil(n / 32)]? i32, maskRow [...]? i32 -> y [...] i32`.
   *
   * - A temperature below 2^-16 chooses the greatest logit, the lowest index of equals. The other options then have no effect.
   * - Top-k keeps the `topK` greatest logits; 0 or less keeps all.
   * - Then top-p keeps the most likely candidates until their probabilities add up to `topP`, at least one; 1 or more keeps all.
   * - Then min-p keeps candidates at least `minP` times as likely as the most likely one; 0 or less keeps all.
   * - The choice among the rest has the probabilities `softmax(logits / temperature)`.
   *
   * This is llama.cpp's order. Equal logits are ordered by index. `maskRow` is a row of `mask`, whose bit `i % 32` of word `i / 32` says
   * whether index `i` may be chosen; rows outside the mask are not masked.
   *
   * All backends make the same choice, because weights are whole numbers of 28 bits. With `d` the distance to the greatest logit and
   * `e = trunc(d * log2(e) * 2^20)`, a weight is `2^(28 - e / 2^20)` rounded down, computed as in `weightOf`. Top-p compares sums of weights
   * with `floor(total * topP)`. For the choice, `d` is divided by the temperature, and the first candidate, by index, at which the running sum
   * exceeds `floor(total * r / 2^32)` is chosen. `r` is the first word of Philox4x32-10 with the seed (low word first) as the key and the
   * position as the counter, so any step can be repeated on its own.
   *
   * Logits of -Infinity are never chosen. NaN, +Infinity or a row without a candidate is an error on the scalar reference and gives -1 on
   * other backends.
   * See {@link sample}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if only one of `mask` and `maskRow` is given, if a row has no or more than 2^24 logits, and for bad logits when
   *   the reference runs
   */
  sample(
    logits: Handle,
    position: Handle,
    seed: Handle,
    temperature: Handle,
    topK: Handle,
    topP: Handle,
    minP: Handle,
    params?: {
      /** Optional tensor; see the shapes above. */
      readonly mask?: Handle;
      /** Optional tensor; see the shapes above. */
      readonly maskRow?: Handle;
    },
  ): Result;

  /**
   * Multiplies by a constant: `y = x * by`.
   * `x [...] -> y [...]`, f32.
   * See {@link scale}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `by` is not finite
   */
  scale(
    x: Handle,
    params: {
      /** Factor, a finite number. */
      readonly by: number;
    },
  ): Result;

  /**
   * Copies `x` and writes slices along an axis, the inverse of `gather`: `y[..., indices[i], ...] = updates[..., i, ...]`, or `+=`.
   * `x [p..., n, q...], indices [m] i32, updates [p..., m, q...] -> y [p..., n, q...]`, any plain dtype; mode "add" takes f32 or i32.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * See {@link scatter}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for an unknown mode or axis, and for an index out of range when the reference runs
   */
  scatter(
    x: Handle,
    indices: Handle,
    updates: Handle,
    params?: {
      /** Axis to write along. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
      /** "replace" keeps the last update of equal indices. "add" adds every update to the element of `x` (f32, or wrapping i32). @defaultValue "replace" */
      readonly mode?: "replace" | "add";
    },
  ): Result;

  /**
   * Scaled exponential linear unit (Klambauer et al., 2017): `y = lambda * x` for `x > 0`, else `lambda * alpha * (exp(x) - 1)`, with lambda
   * 1.0507 and alpha 1.6733.
   * `x [...] -> y [...]`, f32.
   * See {@link selu}.
   * @throws {DTypeError} unless x is f32
   */
  selu(x: Handle): Result;

  /**
   * Logistic function: `y = 1 / (1 + exp(-x))`.
   * `x [...] -> y [...]`, f32.
   * See {@link sigmoid}.
   * @throws {DTypeError} unless x is f32
   */
  sigmoid(x: Handle): Result;

  /**
   * Sign: `y` is 1 above 0, -1 below, and 0 at 0. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * See {@link sign}.
   * @throws {DTypeError} unless x is f32
   */
  sign(x: Handle): Result;

  /**
   * Sigmoid linear unit, also called swish (Ramachandran et al., 2017): `y = x / (1 + exp(-x))`.
   * `x [...] -> y [...]`, f32.
   * See {@link silu}.
   * @throws {DTypeError} unless x is f32
   */
  silu(x: Handle): Result;

  /**
   * Sine: `y = sin(x)`, with x in radians.
   * `x [...] -> y [...]`, f32.
   * See {@link sin}.
   * @throws {DTypeError} unless x is f32
   */
  sin(x: Handle): Result;

  /**
   * Hyperbolic sine: `y = (exp(x) - exp(-x)) / 2`.
   * `x [...] -> y [...]`, f32.
   * See {@link sinh}.
   * @throws {DTypeError} unless x is f32
   */
  sinh(x: Handle): Result;

  /**
   * Part of an axis: `y[..., i, ...] = x[..., start + i * step, ...]` for indices below `end`. Several slices split a tensor.
   * `x [..., n, ...] -> y [..., ceil((end - start) / step), ...]`, any plain dtype.
   *
   * Bounds outside the axis are errors; they are not clipped. A symbolic axis can only be taken whole. A symbolic `end` needs `start: 0` and
   * `step: 1`.
   * See {@link slice}.
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ShapeError} if x is a scalar
   * @throws {ArgumentError} if the axis or a bound is out of range
   */
  slice(
    x: Handle,
    params: {
      /** Axis to cut. A negative axis counts from the end. */
      readonly axis: number;
      /** First index. A negative index counts from the end. @defaultValue 0 */
      readonly start?: number;
      /**
       * Index after the last one. A negative index counts from the end; null takes the rest of the axis. A symbolic dim takes the number
       * of elements that the run binds it to.
       * @defaultValue null
       */
      readonly end?: Dim | null;
      /** Distance between the taken indices, a whole number from 1. @defaultValue 1 */
      readonly step?: number;
    },
  ): Result;

  /**
   * Softmax along an axis: `y = exp(x - max(x)) / sum(exp(x - max(x)))`.
   * `x [...] -> y [...]`, f32. As in PyTorch, a line of only -Infinity gives NaN.
   * See {@link softmax}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  softmax(
    x: Handle,
    params?: {
      /** Axis that the softmax normalises. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Softplus: `y = log(1 + exp(x))`, without overflow.
   * `x [...] -> y [...]`, f32.
   * See {@link softplus}.
   * @throws {DTypeError} unless x is f32
   */
  softplus(x: Handle): Result;

  /**
   * Sorts the values along an axis, in ascending or descending order. NaN counts as the largest value.
   * `x [...] -> y [...]`, f32.
   * See {@link sort}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  sort(
    x: Handle,
    params?: {
      /** Axis to sort. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** Whether the largest value comes first. @defaultValue false */
      readonly descending?: boolean;
    },
  ): Result;

  /**
   * Square root: `y = sqrt(x)`; NaN below 0.
   * `x [...] -> y [...]`, f32.
   * See {@link sqrt}.
   * @throws {DTypeError} unless x is f32
   */
  sqrt(x: Handle): Result;

  /**
   * Causal convolution of each channel with its own filter over the latest K tokens of a sequence (Gu & Dao, 2023, "Mamba", section 3.4):
   * `y[t, c] = Σ_j filter[c, j] · x[t - K + 1 + j, c]`. With K = 3 it is the short convolution of LFM2.
   * `x [T, C], filter [C, K], state [S, K - 1, C], positions [T] i32, rows [T] i32 -> y [T, C]`, f32.
   *
   * Tokens before those of the call are in row `rows[t]` of the state, oldest first, where `ssmConvWrite` stored them. Tokens before
   * position 0 count as 0, so a state needs no reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
   * See {@link ssmConv}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  ssmConv(x: Handle, filter: Handle, state: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Stores the latest tokens of each sequence for the next `ssmConv` and returns the state's next version.
   * `state [S, K - 1, C], x [T, C], positions [T] i32, rows [T] i32 -> state`, f32. Places before position 0 become 0.
   *
   * Sequences must have different rows. A row outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
   * See {@link ssmConvWrite}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ProgramError} unless `state` is the newest version of a persistent
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  ssmConvWrite(state: Handle, x: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Selective state space (Gu & Dao, 2023, "Mamba", algorithm 2), with heads and groups as in Mamba-2 (Dao & Gu, 2024). Head h with channels
   * p is in group g = h · G / H; its state s has N elements per channel. Each token updates the state, then reads it:
   * `s[h, p, n] = exp(dt[t, h] · a[h, n]) · s[h, p, n] + dt[t, h] · b[t, g, n] · x[t, h, p]`,
   * `y[t, h, p] = Σ_n c[t, g, n] · s[h, p, n]`.
   *
   * `x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], c [T, G, N], state [S, H, P, N], positions [T] i32, rows [T] i32 -> y [T, H,
   * P]`, f32. Mamba has P = 1 and G = 1.
   *
   * A sequence continues from row `rows[t]` of the state, where `ssmScanWrite` left it. At position 0 it starts from 0, so a state needs no
   * reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
   * See {@link ssmScan}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  ssmScan(x: Handle, dt: Handle, a: Handle, b: Handle, c: Handle, state: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Advances the states of sequences over the given tokens, as `ssmScan` does, and returns the state's next version.
   * `state [S, H, P, N], x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], positions [T] i32, rows [T] i32 -> state`, f32.
   *
   * Sequences must have different rows. A row outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
   * See {@link ssmScanWrite}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ProgramError} unless `state` is the newest version of a persistent
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  ssmScanWrite(state: Handle, x: Handle, dt: Handle, a: Handle, b: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Joins n tensors along a new axis.
   * `tensors[i] [...] -> y [..., n, ...]`, of one shape and one plain dtype.
   * See {@link stack}.
   * @throws {ShapeError} if the shapes differ
   * @throws {DTypeError} unless all tensors have one plain dtype
   * @throws {ArgumentError} if the result has no such axis
   */
  stack(
    tensors: readonly Handle[],
    params?: {
      /** Index of the new axis in the result. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Difference with broadcasting: `y = a - b`. i32 differences wrap.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * See {@link sub}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  sub(a: Handle, b: Handle): Result;

  /**
   * Sum along an axis. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link sum}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  sum(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Sum along an axis with compensation (Kahan, 1965; Neumaier, 1974). An empty axis gives 0.
   *
   * The result is as accurate as a sum in twice the precision: small terms survive between large terms of opposite signs. `sum` is faster.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link sumKahan}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  sumKahan(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Picks along an axis by each line's own indices, like numpy's `take_along_axis`: `y[o, i, k] = x[o, indices[o, i, k], k]`. Takes the
   * indices that `argsort` and `topKIndices` return; `gather` picks whole slices.
   * `x [p..., n, q...], indices [p..., m, q...] i32 -> y [p..., m, q...]`, any plain dtype.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * See {@link takeAlongAxis}.
   * @throws {DTypeError} unless x has a plain dtype and `indices` is i32
   * @throws {ShapeError} if x is a scalar, or the shapes differ in another axis
   * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs
   */
  takeAlongAxis(
    x: Handle,
    indices: Handle,
    params?: {
      /** Axis to pick along. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Tangent: `y = tan(x)`, with x in radians.
   * `x [...] -> y [...]`, f32.
   * See {@link tan}.
   * @throws {DTypeError} unless x is f32
   */
  tan(x: Handle): Result;

  /**
   * Hyperbolic tangent: `y = tanh(x)`.
   * `x [...] -> y [...]`, f32.
   * See {@link tanh}.
   * @throws {DTypeError} unless x is f32
   */
  tanh(x: Handle): Result;

  /**
   * The k largest (or smallest) values along an axis, in order. NaN counts as the largest value. `topKIndices` returns their indices.
   * `x [..., n, ...] -> y [..., k, ...]`, f32.
   * See {@link topK}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is symbolic
   * @throws {ArgumentError} if x has no such axis or fewer than k elements along it
   */
  topK(
    x: Handle,
    params: {
      /** Number of values to take, from 0 to the axis's extent. */
      readonly k: number;
      /** Axis to take values along. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** True takes the largest values, largest first. False takes the smallest, smallest first. @defaultValue true */
      readonly largest?: boolean;
    },
  ): Result;

  /**
   * Indices of the k largest (or smallest) values along an axis, in the order of `topK`. Among equal values the first ones come first.
   * `x [..., n, ...] f32 -> y [..., k, ...] i32`.
   * See {@link topKIndices}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is symbolic
   * @throws {ArgumentError} if x has no such axis or fewer than k elements along it
   */
  topKIndices(
    x: Handle,
    params: {
      /** Number of values to take, from 0 to the axis's extent. */
      readonly k: number;
      /** Axis to take values along. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** True takes the largest values, largest first. False takes the smallest, smallest first. @defaultValue true */
      readonly largest?: boolean;
    },
  ): Result;

  /**
   * Permutes the axes; by default it reverses them, which transposes a matrix.
   * `x [...] -> y [...]`, any plain dtype.
   * See {@link transpose}.
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ArgumentError} unless `axes` names each axis once
   */
  transpose(
    x: Handle,
    params?: {
      /** Axis i of the result is axis `axes[i]` of the input. A negative axis counts from the end; null reverses all axes. @defaultValue null */
      readonly axes?: readonly number[] | null;
    },
  ): Result;

  /**
   * Rounds toward zero to a whole number: `y = trunc(x)`.
   * `x [...] -> y [...]`, f32.
   * See {@link trunc}.
   * @throws {DTypeError} unless x is f32
   */
  trunc(x: Handle): Result;

  /**
   * Variance along an axis: `sum((x - mean(x))^2) / (n - correction)`. Two passes keep the precision of values that are close to a large
   * mean.
   * A symbolic axis gives NaN in a run where it has at most `correction` elements.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * See {@link variance}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or there are at most `correction` elements to reduce
   * @throws {ArgumentError} if x has no such axis, or `correction` is negative
   */
  variance(
    x: Handle,
    params?: {
      /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
      /** Subtracted from n in the divisor: 0 for the variance of a population, 1 for that of a sample. @defaultValue 0 */
      readonly correction?: number;
    },
  ): Result;

  /**
   * Selects elements by a condition: `y = condition ? a : b`.
   * `condition [...] bool, a [...], b [...] -> y [...]` with broadcasting; `a` and `b` share one plain dtype.
   * See {@link where}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless `condition` is bool, and `a` and `b` have one plain dtype
   */
  where(condition: Handle, a: Handle, b: Handle): Result;
}

/** The ops as methods of their first tensor: `a.matmul(b, { transposeB: true })`, `a.concat([b, c], { axis: 0 })`. */
export interface ChainMethods<Handle> {
  /**
   * Absolute value: `y = |x|`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link abs}.
   * @throws {DTypeError} unless x is f32
   */
  abs(): Handle;

  /**
   * Arc cosine in radians: `y = acos(x)`; NaN outside [-1, 1].
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link acos}.
   * @throws {DTypeError} unless x is f32
   */
  acos(): Handle;

  /**
   * Inverse hyperbolic cosine: `y = log(x + sqrt(x^2 - 1))`; NaN below 1.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link acosh}.
   * @throws {DTypeError} unless x is f32
   */
  acosh(): Handle;

  /**
   * Sum with broadcasting: `y = a + b`. i32 sums wrap.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * `a` is this tensor. See {@link add}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  add(b: Handle): Handle;

  /**
   * Whether every element along an axis is true. An empty axis gives true.
   *
   * `x [...] bool -> y [...] bool`. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1
   * (`keepDims`).
   * `x` is this tensor. See {@link all}.
   * @throws {DTypeError} unless x is bool
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  all(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Whether at least one element along an axis is true. An empty axis gives false.
   *
   * `x [...] bool -> y [...] bool`. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1
   * (`keepDims`).
   * `x` is this tensor. See {@link any}.
   * @throws {DTypeError} unless x is bool
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  any(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Index of the largest value along an axis, the first one among equals. As in numpy, NaN counts as the largest.
   * `x [...] f32 -> y [...] i32` without the axis. A symbolic axis that is empty in a run gives 0.
   * `x` is this tensor. See {@link argmax}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  argmax(params?: {
    /** Axis to search. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Index of the smallest value along an axis, the first one among equals. As in numpy, NaN counts as the smallest.
   * `x [...] f32 -> y [...] i32` without the axis. A symbolic axis that is empty in a run gives 0.
   * `x` is this tensor. See {@link argmin}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  argmin(params?: {
    /** Axis to search. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Indices that sort the values along an axis. Equal values keep their order; NaN counts as the largest value.
   * `x [...] f32 -> y [...] i32`.
   * `x` is this tensor. See {@link argsort}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  argsort(params?: {
    /** Axis to sort. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** Whether the largest value comes first. @defaultValue false */
    readonly descending?: boolean;
  }): Handle;

  /**
   * Arc sine in radians: `y = asin(x)`; NaN outside [-1, 1].
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link asin}.
   * @throws {DTypeError} unless x is f32
   */
  asin(): Handle;

  /**
   * Inverse hyperbolic sine: `y = log(x + sqrt(x^2 + 1))`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link asinh}.
   * @throws {DTypeError} unless x is f32
   */
  asinh(): Handle;

  /**
   * Arc tangent in radians: `y = atan(x)`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link atan}.
   * @throws {DTypeError} unless x is f32
   */
  atan(): Handle;

  /**
   * Inverse hyperbolic tangent: `y = log((1 + x) / (1 - x)) / 2`; infinite at 1 and -1, NaN outside [-1, 1].
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link atanh}.
   * @throws {DTypeError} unless x is f32
   */
  atanh(): Handle;

  /**
   * Attention (Vaswani et al., 2017) over a paged cache (Kwon et al., 2023) that `kvWrite` filled: `y = sum(softmax(score) * v)`.
   *
   * `q [T, H, dK], cache [S, Hkv, dK + dV] f32 | f16 | q8_0, positions [T] i32, seqOf [T] i32, blockTable [nSeq, maxBlocks] i32, seqLens
   * [nSeq] i32, sinks [H]?, bias [H, 2R + 1]? -> y [T, H, dV]`, f32. A single sequence has the block table `[[0]]` and `blockSize = S`.
   *
   * - Query `t` belongs to sequence `s = seqOf[t]` and sees positions `j` in `[0, seqLens[s])`. With `causal` it sees none after
   *   `positions[t]`; with a window, only `j > positions[t] - window`. A query that sees nothing gives 0.
   * - Position `j` is stored in slot `blockTable[s, floor(j / blockSize)] * blockSize + j % blockSize`.
   * - Head `h` reads head `floor(h * Hkv / H)` of the cache.
   * - `score = scale * q . k`, then the soft cap, then `- slope(h) * |j - positions[t]|` with ALiBi.
   * - `bias` is added to the scores by the distance of a position from the query: `bias[h, R]` at the query's own, `bias[h, R + n]` to the
   *   n-th position after it, and those of distance `R` to all that are further away.
   * - `sinks[h]` is an additional logit of the softmax, without a value.
   *
   * Indices outside the tables are an error on the scalar reference; other backends treat such positions as not seen.
   * `q` is this tensor. See {@link attention}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if an option is out of range, and for bad indices when the reference runs
   */
  attention(
    cache: Handle,
    positions: Handle,
    seqOf: Handle,
    blockTable: Handle,
    seqLens: Handle,
    params: {
      /** Factor of `q . k`, usually `1 / sqrt(dK)`. */
      readonly scale: number;
      /** Positions per block of the block table. */
      readonly blockSize: number;
      /** Whether a query sees no position after its own. @defaultValue true */
      readonly causal?: boolean;
      /** Number of positions that a query sees, up to and including its own; 0 means all. @defaultValue 0 */
      readonly window?: number;
      /** Soft cap: scores become `softcap * tanh(score / softcap)`. 0 means no cap. @defaultValue 0 */
      readonly softcap?: number;
      /** Largest bias of ALiBi (ggml's `max_bias`); 0 means none. @defaultValue 0 */
      readonly alibi?: number;
      /** Precision of the operands of both products: "half" permits a backend to round them to f16, as in `matmul`. @defaultValue "f32" */
      readonly activations?: "f32" | "half";
      /** Optional tensor; see the shapes above. */
      readonly sinks?: Handle;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Handle;

  /**
   * Average pooling: the mean of each window.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, with `H' = floor((H + 2 padding - kernel) / stride) + 1`, and `W'` likewise.
   * `x` is this tensor. See {@link avgPool2d}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} unless x has four axes and the kernel fits into the padded image
   * @throws {ArgumentError} if an option is out of range
   */
  avgPool2d(params: {
    /** Extents of a window. */
    readonly kernel: Pair;
    /** Distance between windows; null means the kernel's size, so that windows do not overlap. @defaultValue null */
    readonly stride?: Pair | null;
    /** Elements added on each of the two sides of an axis, at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
    readonly padding?: Pair;
    /** Whether the padding's zeros count: true divides by the kernel's size everywhere, as PyTorch does by default. @defaultValue true */
    readonly countPadding?: boolean;
  }): Handle;

  /**
   * Batch norm (Ioffe & Szegedy, 2015) with stored statistics, as in inference:
   * `y = (x - mean[c]) / sqrt(variance[c] + eps) * w[c] + bias[c]`.
   * `x [N, C, ...], mean [C], variance [C], w [C], bias [C] -> y [N, C, ...]`, f32.
   * `x` is this tensor. See {@link batchNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `eps` is negative or not finite
   */
  batchNorm(
    mean: Handle,
    variance: Handle,
    w: Handle,
    bias: Handle,
    params: {
      /** Added to the variance, which avoids a division by zero. */
      readonly eps: number;
    },
  ): Handle;

  /**
   * Converts values to another plain dtype.
   * `x [...] -> y [...]`, from and to any plain dtype. For block types use `quantize` and `dequantize`.
   *
   * - Float to integer truncates toward zero and saturates; NaN becomes 0.
   * - Integer to integer keeps the low bits.
   * - To bool: `x != 0`, so NaN is true. From bool: 0 or 1.
   * - To f16 and bf16 rounds to the nearest f32 first, then to the nearest value of the type, ties to even.
   * `x` is this tensor. See {@link cast}.
   * @throws {DTypeError | ArgumentError} if x or `dtype` is not a plain dtype
   */
  cast(params: {
    /** The dtype of the result. */
    readonly dtype: ScalarType;
  }): Handle;

  /**
   * Rounds up to a whole number: `y = ceil(x)`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link ceil}.
   * @throws {DTypeError} unless x is f32
   */
  ceil(): Handle;

  /**
   * Limits values to a range: `y = min(max(x, min), max)`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link clip}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if a bound is NaN, or `min` is above `max`
   */
  clip(params: {
    /** Lower bound. */
    readonly min: number;
    /** Upper bound, at least `min`. */
    readonly max: number;
  }): Handle;

  /**
   * Joins one or more tensors along an axis.
   * `tensors[i] [..., n_i, ...] -> y [..., n_0 + n_1 + ..., ...]`, of one plain dtype. All other extents must be equal.
   * The first of `tensors` is this tensor. See {@link concat}.
   * @throws {ShapeError} if other extents differ, the joined axis is symbolic, or the tensors are scalars
   * @throws {DTypeError} unless all tensors have one plain dtype
   * @throws {ArgumentError} if the tensors have no such axis
   */
  concat(
    others: readonly Handle[],
    params: {
      /** Axis to join along. A negative axis counts from the end. */
      readonly axis: number;
    },
  ): Handle;

  /**
   * Cross-correlation along one axis: `y[n, o, i] = sum(c, p) x[n, c, i * stride + p * dilation - padding] * w[o, c, p]`. Outside `x` the
   * values are 0.
   * `x [N, C, L], w [O, C / groups, k] -> y [N, O, L']`, f32, with `L' = floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1`.
   * `x` is this tensor. See {@link conv1d}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or the kernel does not fit into the padded x
   * @throws {ArgumentError} if an option is out of range, or `groups` does not divide C and O
   */
  conv1d(
    w: Handle,
    params?: {
      /** Distance between windows. @defaultValue 1 */
      readonly stride?: number;
      /** Zeros added on each of the two sides. For unequal sides, e.g. in a causal convolution, use `pad` first. @defaultValue 0 */
      readonly padding?: number;
      /** Distance between the elements of `x` that one window reads. @defaultValue 1 */
      readonly dilation?: number;
      /** Number of groups. Output channels of a group see only the input channels of the same group. @defaultValue 1 */
      readonly groups?: number;
    },
  ): Handle;

  /**
   * Cross-correlation over two axes, which deep-learning libraries call convolution:
   * `y[n, o, i, j] = sum(c, p, q) x[n, c, i * stride + p * dilation - padding, ...] * w[o, c, p, q]`. Outside `x` the values are 0.
   * `x [N, C, H, W], w [O, C / groups, kh, kw] -> y [N, O, H', W']`, f32, with
   * `H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1`, and `W'` likewise.
   * `x` is this tensor. See {@link conv2d}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or the kernel does not fit into the padded x
   * @throws {ArgumentError} if an option is out of range, or `groups` does not divide C and O
   */
  conv2d(
    w: Handle,
    params?: {
      /** Distance between windows. @defaultValue [1,1] */
      readonly stride?: Pair;
      /** Zeros added on each of the two sides of an axis. @defaultValue [0,0] */
      readonly padding?: Pair;
      /** Distance between the elements of `x` that one window reads. @defaultValue [1,1] */
      readonly dilation?: Pair;
      /** Number of groups. Output channels of a group see only the input channels of the same group. @defaultValue 1 */
      readonly groups?: number;
    },
  ): Handle;

  /**
   * Magnitude of `a` with the sign bit of `b`: a `b` of -0 makes the result negative.
   * `a [...], b [...] -> y [...]` with broadcasting, f32.
   * `a` is this tensor. See {@link copysign}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32
   */
  copysign(b: Handle): Handle;

  /**
   * Cosine: `y = cos(x)`, with x in radians.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link cos}.
   * @throws {DTypeError} unless x is f32
   */
  cos(): Handle;

  /**
   * Hyperbolic cosine: `y = (exp(x) + exp(-x)) / 2`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link cosh}.
   * @throws {DTypeError} unless x is f32
   */
  cosh(): Handle;

  /**
   * Cumulative product along an axis: `y[i] = x[0] * ... * x[i]`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link cumprod}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  cumprod(params?: {
    /** Axis to accumulate along. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Cumulative sum along an axis: `y[i] = x[0] + ... + x[i]`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link cumsum}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  cumsum(params?: {
    /** Axis to accumulate along. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Linear attention whose state forgets by decays and by one direction per token: the generalized delta rule (Peng et al., 2025, "RWKV-7
   * Goose"). Each token updates the state `s [V, K]` of a head, then reads it:
   * `s = s · diag(decay[t, h]) + (s · a[t, h]) · b[t, h]ᵀ + v[t, h] · k[t, h]ᵀ`, both on the right the state before the token,
   * `y[t, h] = s · q[t, h]`.
   *
   * Gated DeltaNet (Yang, Kautz & Hatamizadeh, 2024, equation 10) with gates α and β, α a number per head: `decay = α, a = k, b = -α · β · k`,
   * `v = β · v`. Kimi Delta Attention has an α per element: `decay = α, a = α · k, b = -β · k, v = β · v`.
   *
   * `q, k, a, b [T, H, K], v [T, H, V], decay [T, H, K] or [T, H, 1], state [S, H, V, K], positions [T] i32, rows [T] i32 -> y [T, H, V]`,
   * f32.
   *
   * A sequence continues from row `rows[t]` of the state, where `deltaScanWrite` left it. At position 0 it starts from 0, so a state needs
   * no reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
   * `q` is this tensor. See {@link deltaScan}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  deltaScan(k: Handle, v: Handle, decay: Handle, a: Handle, b: Handle, state: Handle, positions: Handle, rows: Handle): Handle;

  /**
   * Decodes a block type, f16 or bf16 to f32. The result is exact.
   * `x [...] -> y [...] f32`.
   * `x` is this tensor. See {@link dequantize}.
   * @throws {DTypeError} if x is f32, an integer or bool
   */
  dequantize(): Handle;

  /**
   * Quotient with broadcasting: `y = a / b`. Division by zero gives an infinity or NaN.
   * `a [...], b [...] -> y [...]` with broadcasting, f32.
   * `a` is this tensor. See {@link div}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32
   */
  div(b: Handle): Handle;

  /**
   * Inner product of two vectors: `y = sum(a * b)`.
   * `a [n], b [n] -> y []`, f32.
   * `a` is this tensor. See {@link dot}.
   * @throws {ShapeError | DTypeError} unless both are f32 vectors of one length
   */
  dot(b: Handle): Handle;

  /**
   * One element of a tensor as a scalar that later ops can read: `y = x.flat[index]`.
   * `x [...] -> y []`, f32 or i32. The scalar is a copy: it keeps its value when `x` is written later.
   * `x` is this tensor. See {@link element}.
   * @throws {DTypeError} unless x is f32 or i32
   * @throws {ArgumentError} if `index` is outside x, for symbolic extents when the program runs
   */
  element(params: {
    /** Row-major index of the element. */
    readonly index: number;
  }): Handle;

  /**
   * Exponential linear unit (Clevert et al., 2015): `y = x` for `x >= 0`, else `alpha * (exp(x) - 1)`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link elu}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `alpha` is not finite
   */
  elu(params?: {
    /** Scale of negative values: large negative inputs approach `-alpha`. @defaultValue 1 */
    readonly alpha?: number;
  }): Handle;

  /**
   * Looks up rows of a table: `y[..., :] = table[ids[...], :]`.
   * `table [V, d], ids [...] i32 -> y [..., d] f32`. The table is f32, f16, bf16 or a block type; it may also be a tensor of activations.
   *
   * An id outside `[0, V)` is an error on the scalar reference; other backends write a row of zeros and never read outside the table.
   * `table` is this tensor. See {@link embedding}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for an id out of range, when the reference runs
   */
  embedding(ids: Handle): Handle;

  /**
   * Whether elements are equal: `y = a == b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * `a` is this tensor. See {@link equal}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  equal(b: Handle): Handle;

  /**
   * Exponential function: `y = e^x`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link exp}.
   * @throws {DTypeError} unless x is f32
   */
  exp(): Handle;

  /**
   * Repeats `x` to a larger shape by the broadcasting rule.
   * `x [...] -> y [...shape]`, any plain dtype.
   * `x` is this tensor. See {@link expand}.
   * @throws {ShapeError} if x does not broadcast to `shape`
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ArgumentError} if `shape` is not a list of extents
   */
  expand(params: {
    /** Shape of the result. Axes align at the last one; an extent of 1 of `x` may grow, and axes may be added in front. */
    readonly shape: Shape;
  }): Handle;

  /**
   * Rounds down to a whole number: `y = floor(x)`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link floor}.
   * @throws {DTypeError} unless x is f32
   */
  floor(): Handle;

  /**
   * Multiplies and adds: `y = a * b + c`. Backends may round the product before they add.
   * `a [...], b [...], c [...] -> y [...]` with broadcasting, f32.
   * `a` is this tensor. See {@link fma}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless all inputs are f32
   */
  fma(b: Handle, c: Handle): Handle;

  /**
   * Fractional part as in shading languages: `y = x - floor(x)`, in [0, 1). Infinities give NaN.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link fract}.
   * @throws {DTypeError} unless x is f32
   */
  fract(): Handle;

  /**
   * Picks slices along an axis by index, like numpy's `take`: `y[..., i..., ...] = x[..., indices[i...], ...]`.
   * `x [p..., n, q...], indices [i...] i32, fallback [p..., i..., q...]? -> y [p..., i..., q...]`, any plain dtype. To pick rows of a
   * quantised table use `embedding`.
   *
   * An index outside `[0, n)` picks the slice of `fallback`. Without one, it is an error on the scalar reference.
   * `x` is this tensor. See {@link gather}.
   * @throws {DTypeError} unless x has a plain dtype, which the fallback shares, and `indices` is i32
   * @throws {ShapeError} if x is a scalar, or the fallback has another shape than the result
   * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs without a fallback
   */
  gather(
    indices: Handle,
    params?: {
      /** Axis to pick along. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
      /** Optional tensor; see the shapes above. */
      readonly fallback?: Handle;
    },
  ): Handle;

  /**
   * Gaussian error linear unit (Hendrycks & Gimpel, 2016), tanh form: `y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
   * `x [...] -> y [...]`, f32. `geluErf` is the exact form.
   * `x` is this tensor. See {@link gelu}.
   * @throws {DTypeError} unless x is f32
   */
  gelu(): Handle;

  /**
   * Gaussian error linear unit (Hendrycks & Gimpel, 2016), exact form: `y = 0.5 * x * (1 + erf(x / sqrt(2)))`.
   * `x [...] -> y [...]`, f32. `gelu` is the tanh form.
   * `x` is this tensor. See {@link geluErf}.
   * @throws {DTypeError} unless x is f32
   */
  geluErf(): Handle;

  /**
   * Whether `a` is larger: `y = a > b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * `a` is this tensor. See {@link greater}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  greater(b: Handle): Handle;

  /**
   * Whether `a` is at least as large: `y = a >= b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * `a` is this tensor. See {@link greaterEqual}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  greaterEqual(b: Handle): Handle;

  /**
   * Group norm (Wu & He, 2018): normalises each group of channels to mean 0 and variance 1, then scales and shifts each channel:
   * `y = (x - mean) / sqrt(variance + eps) * w[c] + bias[c]`.
   * `x [N, C, ...], w [C], bias [C]? -> y [N, C, ...]`, f32.
   *
   * Mean and variance are taken over one group of one item. The variance is the population's, computed in two passes.
   * `x` is this tensor. See {@link groupNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `groups` does not divide C, or `eps` is negative or not finite
   */
  groupNorm(
    w: Handle,
    params: {
      /** Number of groups of adjacent channels: 1 normalises over all C channels, C gives an instance norm. */
      readonly groups: number;
      /** Added to the variance, which avoids a division by zero. */
      readonly eps: number;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Handle;

  /**
   * Hard swish (Howard et al., 2019): `y = x * min(max(x + 3, 0), 6) / 6`. The result is 0 up to -3 and x from 3.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link hardswish}.
   * @throws {DTypeError} unless x is f32
   */
  hardswish(): Handle;

  /**
   * Layer norm over the last axis (Ba et al., 2016): `y = (x - mean(x)) / sqrt(variance(x) + eps) * w + bias`.
   * `x [..., n], w [n], bias [n]? -> y [..., n]`, f32. The variance is the population's, computed in two passes.
   * `x` is this tensor. See {@link layerNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `eps` is negative or not finite
   */
  layerNorm(
    w: Handle,
    params: {
      /** Added to the variance, which avoids a division by zero. */
      readonly eps: number;
      /** Optional tensor; see the shapes above. */
      readonly bias?: Handle;
    },
  ): Handle;

  /**
   * Leaky rectified linear unit: `y = x` for `x >= 0`, else `slope * x`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link leakyRelu}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `slope` is not finite
   */
  leakyRelu(params?: {
    /** Factor of negative inputs. @defaultValue 0.01 */
    readonly slope?: number;
  }): Handle;

  /**
   * Linear interpolation: `y = a + t * (b - a)`. `t` may be outside [0, 1].
   * `a [...], b [...], t [...] -> y [...]` with broadcasting, f32.
   * `a` is this tensor. See {@link lerp}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless all inputs are f32
   */
  lerp(b: Handle, t: Handle): Handle;

  /**
   * Whether `a` is smaller: `y = a < b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * `a` is this tensor. See {@link less}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  less(b: Handle): Handle;

  /**
   * Whether `a` is at most as large: `y = a <= b`; false if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * `a` is this tensor. See {@link lessEqual}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  lessEqual(b: Handle): Handle;

  /**
   * Natural logarithm: `y = log(x)`; -Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link log}.
   * @throws {DTypeError} unless x is f32
   */
  log(): Handle;

  /**
   * Base-10 logarithm: `y = log10(x)`; -Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link log10}.
   * @throws {DTypeError} unless x is f32
   */
  log10(): Handle;

  /**
   * Base-2 logarithm: `y = log2(x)`; -Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link log2}.
   * @throws {DTypeError} unless x is f32
   */
  log2(): Handle;

  /**
   * Logarithm of the softmax along an axis: `y = x - max(x) - log(sum(exp(x - max(x))))`.
   * `x [...] -> y [...]`, f32. As in PyTorch, a line of only -Infinity gives NaN.
   * `x` is this tensor. See {@link logSoftmax}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  logSoftmax(params?: {
    /** Axis that the softmax normalises. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Logical and: `y = a && b`.
   * `a [...], b [...] -> y [...]` with broadcasting, all bool.
   * `a` is this tensor. See {@link logicalAnd}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are bool
   */
  logicalAnd(b: Handle): Handle;

  /**
   * Logical negation: `y = !x`.
   * `x [...] bool -> y [...] bool`.
   * `x` is this tensor. See {@link logicalNot}.
   * @throws {DTypeError} unless x is bool
   */
  logicalNot(): Handle;

  /**
   * Logical or: `y = a || b`.
   * `a [...], b [...] -> y [...]` with broadcasting, all bool.
   * `a` is this tensor. See {@link logicalOr}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are bool
   */
  logicalOr(b: Handle): Handle;

  /**
   * Exclusive or: `y = a != b`.
   * `a [...], b [...] -> y [...]` with broadcasting, all bool.
   * `a` is this tensor. See {@link logicalXor}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are bool
   */
  logicalXor(b: Handle): Handle;

  /**
   * Matrix product with broadcast batch axes.
   * `a [..., m, k], b [..., k, n] -> y [..., m, n]`, f32. `b` may also be f16, bf16 or a block type; a block type needs `transposeB`,
   * because its blocks run along k.
   * `a` is this tensor. See {@link matmul}.
   * @throws {ShapeError} if the inner extents differ, a rank is below 2, or the batch axes do not broadcast
   * @throws {DTypeError} if `a` is not f32, or `b` is an integer or bool
   * @throws {ArgumentError} for an unknown option, and for a quantised `b` without `transposeB`
   */
  matmul(
    b: Handle,
    params?: {
      /** Whether `a` is stored as `[..., k, m]`. @defaultValue false */
      readonly transposeA?: boolean;
      /** Whether `b` is stored as `[..., n, k]`, as weights are in GGUF files. A quantised `b` must be. @defaultValue false */
      readonly transposeB?: boolean;
      /**
       * Precision of the operands. Sums are f32 in every mode.
       *
       * - "f32" multiplies exact activations with the dequantised weights.
       * - "half" permits a backend to round both operands to f16, or to bf16 for bf16 weights, as tensor cores do. Rows that would overflow
       *   are scaled by a power of two. A result differs from the exact one by at most `2^-10` (bf16: `2^-7`) times the sum of the
       *   products' magnitudes. A backend may also compute exactly, as the reference does.
       * - "ggml" first rounds each row of `a` as ggml's CPU code does. For a quantised `b` it rounds to the 8-bit blocks that ggml pairs with
       *   that type, which changes results by about 1e-2 relative. For f16 and bf16 it rounds to the type of `b`. For f32 it equals "f32".
       *   A backend may then round the operands as for "half", which changes much less.
       * @defaultValue "f32"
       */
      readonly activations?: Activations;
    },
  ): Handle;

  /**
   * Largest value along an axis; NaN if any element is NaN. A symbolic axis that is empty in a run gives -Infinity.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link max}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  max(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Max pooling: the largest value of each window, NaN if the window contains NaN. Padding never counts.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, with `H' = floor((H + 2 padding - kernel) / stride) + 1`, and `W'` likewise.
   * `x` is this tensor. See {@link maxPool2d}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} unless x has four axes and the kernel fits into the padded image
   * @throws {ArgumentError} if an option is out of range
   */
  maxPool2d(params: {
    /** Extents of a window. */
    readonly kernel: Pair;
    /** Distance between windows; null means the kernel's size, so that windows do not overlap. @defaultValue null */
    readonly stride?: Pair | null;
    /** Elements added on each of the two sides of an axis, at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
    readonly padding?: Pair;
  }): Handle;

  /**
   * The larger of two elements: `y = max(a, b)`; NaN if either is NaN.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * `a` is this tensor. See {@link maximum}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  maximum(b: Handle): Handle;

  /**
   * Mean along an axis: `sum(x) / n`. A symbolic axis that is empty in a run gives NaN.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link mean}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  mean(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Smallest value along an axis; NaN if any element is NaN. A symbolic axis that is empty in a run gives Infinity.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link min}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
   * @throws {ArgumentError} if x has no such axis
   */
  min(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * The smaller of two elements: `y = min(a, b)`; NaN if either is NaN.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * `a` is this tensor. See {@link minimum}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  minimum(b: Handle): Handle;

  /**
   * Mish activation (Misra, 2019): `y = x * tanh(log(1 + exp(x)))`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link mish}.
   * @throws {DTypeError} unless x is f32
   */
  mish(): Handle;

  /**
   * Multiplies each token by the matrices of its chosen experts: `y[t, i] = experts[ids[t, i]] · x[t, i]`.
   * `x [T, K] or [T, k, K], experts [E, N, K], ids [T, k] i32 -> y [T, k, N]`, f32. `x [T, K]` has one vector for all experts of a token.
   * `experts` may also be f16, bf16 or a block type.
   *
   * An id outside `[0, E)` is an error on the scalar reference; other backends give zeros.
   * `x` is this tensor. See {@link moeMatmul}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for an unknown option, and for an id out of range when the reference runs
   */
  moeMatmul(
    experts: Handle,
    ids: Handle,
    params?: {
      /** Precision of the operands; see the `matmul` op. @defaultValue "f32" */
      readonly activations?: Activations;
    },
  ): Handle;

  /**
   * Chooses the `k` experts with the highest scores for each token, best first. The lower index comes first among equals; NaN counts as the
   * lowest score.
   * `logits [T, E], bias [E]? -> ids [T, k] i32`, with f32 inputs.
   *
   * An expert's score is its gate (see `moeWeights`) plus the bias. The bias has no part in the weights (DeepSeek-AI, 2024, "DeepSeek-V3",
   * section 2.1.2).
   * `logits` is this tensor. See {@link moeRoute}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or `groups` does not divide E
   * @throws {ArgumentError} if an option is out of range
   */
  moeRoute(params: {
    /** Number of experts per token. */
    readonly k: number;
    /** How logits become scores, before the bias is added. @defaultValue "softmax" */
    readonly gating?: Gating;
    /** Number of equal groups of experts, of which a token uses `topKGroups`. 1 means no groups. @defaultValue 1 */
    readonly groups?: number;
    /** Number of groups that a token uses: those whose two best scores have the largest sums. @defaultValue 1 */
    readonly topKGroups?: number;
    /** Optional tensor; see the shapes above. */
    readonly bias?: Handle;
  }): Handle;

  /**
   * Weights of chosen experts: `y[t, i]` is the gate of expert `ids[t, i]`.
   * `logits [T, E], ids [T, k] i32 -> y [T, k]`, f32.
   *
   * An id outside `[0, E)` is an error on the scalar reference; on other backends its weight is undefined.
   * `logits` is this tensor. See {@link moeWeights}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if an option is out of range, and for an id out of range when the reference runs
   */
  moeWeights(
    ids: Handle,
    params?: {
      /** How logits become gates, the same as in `moeRoute`; see {@link Gating}. @defaultValue "softmax" */
      readonly gating?: Gating;
      /** Whether a token's weights are divided by their sum, or by 2^-14 if the sum is less (ggml's guard against division by zero). @defaultValue false */
      readonly normalize?: boolean;
      /** Factor of the weights, applied last. @defaultValue 1 */
      readonly scale?: number;
    },
  ): Handle;

  /**
   * Product with broadcasting: `y = a * b`. i32 products wrap.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * `a` is this tensor. See {@link mul}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  mul(b: Handle): Handle;

  /**
   * Negation: `y = -x`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link neg}.
   * @throws {DTypeError} unless x is f32
   */
  neg(): Handle;

  /**
   * L1 norm along an axis: `sum(|x|)`. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link normL1}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  normL1(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * L2 norm along an axis: `sqrt(sum(x^2))`. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link normL2}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  normL2(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Maximum norm along an axis: `max(|x|)`; NaN if any element is NaN. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link normLinf}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  normLinf(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Whether elements differ: `y = a != b`; true if either is NaN.
   * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
   * `a` is this tensor. See {@link notEqual}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} if the dtypes differ or are not numbers
   */
  notEqual(b: Handle): Handle;

  /**
   * Adds elements of a constant value before and after each axis.
   * `x [n, ...] -> y [before + n + after, ...]`, any plain dtype.
   * `x` is this tensor. See {@link pad}.
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ShapeError} if a padded axis is symbolic
   * @throws {ArgumentError} unless `pads` has one pair per axis and the dtype can hold the value
   */
  pad(params: {
    /** One pair per axis: the number of elements to add before and after. */
    readonly pads: readonly (readonly [before: number, after: number])[];
    /** Value of the added elements, which the dtype of `x` must be able to represent. @defaultValue 0 */
    readonly value?: number;
  }): Handle;

  /**
   * Power with a constant exponent: `y = x^exponent`, by the rules of IEEE 754. `power` takes a tensor of exponents.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link pow}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `exponent` is NaN
   */
  pow(params: {
    /** Exponent, which may be infinite. */
    readonly exponent: number;
  }): Handle;

  /**
   * Power of two tensors: `y = a^b`, by the rules of IEEE 754. `pow` has a constant exponent.
   * `a [...], b [...] -> y [...]` with broadcasting, f32.
   *
   * A negative base with a fractional exponent gives NaN. `a = 1` or `b = 0` gives 1, even if the other is NaN.
   * `a` is this tensor. See {@link power}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32
   */
  power(b: Handle): Handle;

  /**
   * Product along an axis. An empty axis gives 1.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link prod}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  prod(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Rounds values to quantised blocks along the last axis, bit for bit as ggml does.
   * `x [..., n] f32 -> y [..., n]` of a block type, with n a multiple of the block's elements. For f16 and bf16 use `cast`.
   *
   * Values must be finite: the scalar reference throws, and other backends store NaN as the scale of an affected block. The remaining block
   * types can only be read, with `dequantize`.
   * `x` is this tensor. See {@link quantize}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if the last axis does not hold whole blocks
   * @throws {ArgumentError} if `dtype` cannot be written, and for values that are not finite when the reference runs
   */
  quantize(params?: {
    /** Block type of the result. @defaultValue "q8_0" */
    readonly dtype?: QuantizedType;
  }): Handle;

  /**
   * Reciprocal: `y = 1 / x`; infinite at 0.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link reciprocal}.
   * @throws {DTypeError} unless x is f32
   */
  reciprocal(): Handle;

  /**
   * Rectified linear unit: `y = max(x, 0)`. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link relu}.
   * @throws {DTypeError} unless x is f32
   */
  relu(): Handle;

  /**
   * The same elements, in row-major order, with another shape. Nothing is copied or computed.
   * `x [...] -> y [...shape]`, any plain dtype.
   * `x` is this tensor. See {@link reshape}.
   * @throws {ShapeError} if the number of elements would change
   * @throws {DTypeError} if x has a block type
   * @throws {ArgumentError} if `shape` is not a list of extents
   */
  reshape(params: {
    /** Shape of the result. It has the symbolic dims of `x` and the same product of the remaining extents. */
    readonly shape: Shape;
  }): Handle;

  /**
   * Root-mean-square norm over the last axis (Zhang & Sennrich, 2019): `y = x / sqrt(mean(x^2) + eps) * w`.
   * `x [..., n], w [n] -> y [..., n]`, f32.
   * `x` is this tensor. See {@link rmsNorm}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
   * @throws {ArgumentError} if `eps` is negative or not finite
   */
  rmsNorm(
    w: Handle,
    params: {
      /** Added to the mean of squares, which avoids a division by zero. */
      readonly eps: number;
    },
  ): Handle;

  /**
   * Rotary position embedding (Su et al., 2021): rotates pair `i` of each head by
   * `angle(t, i) = positions[t] * scale * base^(-2i / dims) / freqFactors[i]`, which maps `(p, q)` to `(p cos - q sin, p sin + q cos)`.
   * `x [T, H, D], positions [T] i32, freqFactors [dims / 2]? -> y [T, H, D]`, f32. Elements from `dims` on are copied. Without `freqFactors`
   * every factor is 1.
   * `x` is this tensor. See {@link rope}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if an option is out of range, or `dims` is odd
   */
  rope(
    positions: Handle,
    params: {
      /** Number of leading elements of each head to rotate, an even number; 0 means all. @defaultValue 0 */
      readonly dims?: number;
      /** Base of the geometric series of frequencies. @defaultValue 10000 */
      readonly base?: number;
      /** Elements that form pair `i`, with llama.cpp's names: `2i` and `2i + 1` for "norm", `i` and `i + dims / 2` for "neox". */
      readonly ropeType: "norm" | "neox";
      /** Factor of the positions: 0.5 doubles the context by linear scaling. @defaultValue 1 */
      readonly scale?: number;
      /** Optional tensor; see the shapes above. */
      readonly freqFactors?: Handle;
    },
  ): Handle;

  /**
   * Rounds to the nearest whole number, ties to even, as in numpy and IEEE 754.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link round}.
   * @throws {DTypeError} unless x is f32
   */
  round(): Handle;

  /**
   * Reciprocal square root: `y = 1 / sqrt(x)`; Infinity at 0, NaN below.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link rsqrt}.
   * @throws {DTypeError} unless x is f32
   */
  rsqrt(): Handle;

  /**
   * Draws an index from each row of logits. The options are tensors with a value for each row, so rows of different users share a program.
   * `logits [..., n] f32, position [...] i32, seed [..., 2] i32, temperature [...] f32, topK [...] i32, topP [...] f32, minP [...] f32,
   * mask [m, ceil(n / 32)]? i32, maskRow [...]? i32 -> y [...] i32`.
   *
   * - A temperature below 2^-16 chooses the greatest logit, the lowest index of equals. The other options then have no effect.
   * - Top-k keeps the `topK` greatest logits; 0 or less keeps all.
   * - Then top-p keeps the most likely candidates until their probabilities add up to `topP`, at least one; 1 or more keeps all.
   * - Then min-p keeps candidates at least `minP` times as likely as the most likely one; 0 or less keeps all.
   * - The choice among the rest has the probabilities `softmax(logits / temperature)`.
   *
   * This is llama.cpp's order. Equal logits are ordered by index. `maskRow` is a row of `mask`, whose bit `i % 32` of word `i / 32` says
   * whether index `i` may be chosen; rows outside the mask are not masked.
   *
   * All backends make the same choice, because weights are whole numbers of 28 bits. With `d` the distance to the greatest logit and
   * `e = trunc(d * log2(e) * 2^20)`, a weight is `2^(28 - e / 2^20)` rounded down, computed as in `weightOf`. Top-p compares sums of weights
   * with `floor(total * topP)`. For the choice, `d` is divided by the temperature, and the first candidate, by index, at which the running sum
   * exceeds `floor(total * r / 2^32)` is chosen. `r` is the first word of Philox4x32-10 with the seed (low word first) as the key and the
   * position as the counter, so any step can be repeated on its own.
   *
   * Logits of -Infinity are never chosen. NaN, +Infinity or a row without a candidate is an error on the scalar reference and gives -1 on
   * other backends.
   * `logits` is this tensor. See {@link sample}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} if only one of `mask` and `maskRow` is given, if a row has no or more than 2^24 logits, and for bad logits when
   *   the reference runs
   */
  sample(
    position: Handle,
    seed: Handle,
    temperature: Handle,
    topK: Handle,
    topP: Handle,
    minP: Handle,
    params?: {
      /** Optional tensor; see the shapes above. */
      readonly mask?: Handle;
      /** Optional tensor; see the shapes above. */
      readonly maskRow?: Handle;
    },
  ): Handle;

  /**
   * Multiplies by a constant: `y = x * by`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link scale}.
   * @throws {DTypeError} unless x is f32
   * @throws {ArgumentError} if `by` is not finite
   */
  scale(params: {
    /** Factor, a finite number. */
    readonly by: number;
  }): Handle;

  /**
   * Copies `x` and writes slices along an axis, the inverse of `gather`: `y[..., indices[i], ...] = updates[..., i, ...]`, or `+=`.
   * `x [p..., n, q...], indices [m] i32, updates [p..., m, q...] -> y [p..., n, q...]`, any plain dtype; mode "add" takes f32 or i32.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * `x` is this tensor. See {@link scatter}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for an unknown mode or axis, and for an index out of range when the reference runs
   */
  scatter(
    indices: Handle,
    updates: Handle,
    params?: {
      /** Axis to write along. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
      /** "replace" keeps the last update of equal indices. "add" adds every update to the element of `x` (f32, or wrapping i32). @defaultValue "replace" */
      readonly mode?: "replace" | "add";
    },
  ): Handle;

  /**
   * Scaled exponential linear unit (Klambauer et al., 2017): `y = lambda * x` for `x > 0`, else `lambda * alpha * (exp(x) - 1)`, with lambda
   * 1.0507 and alpha 1.6733.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link selu}.
   * @throws {DTypeError} unless x is f32
   */
  selu(): Handle;

  /**
   * Logistic function: `y = 1 / (1 + exp(-x))`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sigmoid}.
   * @throws {DTypeError} unless x is f32
   */
  sigmoid(): Handle;

  /**
   * Sign: `y` is 1 above 0, -1 below, and 0 at 0. NaN stays NaN.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sign}.
   * @throws {DTypeError} unless x is f32
   */
  sign(): Handle;

  /**
   * Sigmoid linear unit, also called swish (Ramachandran et al., 2017): `y = x / (1 + exp(-x))`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link silu}.
   * @throws {DTypeError} unless x is f32
   */
  silu(): Handle;

  /**
   * Sine: `y = sin(x)`, with x in radians.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sin}.
   * @throws {DTypeError} unless x is f32
   */
  sin(): Handle;

  /**
   * Hyperbolic sine: `y = (exp(x) - exp(-x)) / 2`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sinh}.
   * @throws {DTypeError} unless x is f32
   */
  sinh(): Handle;

  /**
   * Part of an axis: `y[..., i, ...] = x[..., start + i * step, ...]` for indices below `end`. Several slices split a tensor.
   * `x [..., n, ...] -> y [..., ceil((end - start) / step), ...]`, any plain dtype.
   *
   * Bounds outside the axis are errors; they are not clipped. A symbolic axis can only be taken whole. A symbolic `end` needs `start: 0` and
   * `step: 1`.
   * `x` is this tensor. See {@link slice}.
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ShapeError} if x is a scalar
   * @throws {ArgumentError} if the axis or a bound is out of range
   */
  slice(params: {
    /** Axis to cut. A negative axis counts from the end. */
    readonly axis: number;
    /** First index. A negative index counts from the end. @defaultValue 0 */
    readonly start?: number;
    /**
     * Index after the last one. A negative index counts from the end; null takes the rest of the axis. A symbolic dim takes the number
     * of elements that the run binds it to.
     * @defaultValue null
     */
    readonly end?: Dim | null;
    /** Distance between the taken indices, a whole number from 1. @defaultValue 1 */
    readonly step?: number;
  }): Handle;

  /**
   * Softmax along an axis: `y = exp(x - max(x)) / sum(exp(x - max(x)))`.
   * `x [...] -> y [...]`, f32. As in PyTorch, a line of only -Infinity gives NaN.
   * `x` is this tensor. See {@link softmax}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  softmax(params?: {
    /** Axis that the softmax normalises. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Softplus: `y = log(1 + exp(x))`, without overflow.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link softplus}.
   * @throws {DTypeError} unless x is f32
   */
  softplus(): Handle;

  /**
   * Sorts the values along an axis, in ascending or descending order. NaN counts as the largest value.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sort}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar, which has no axes
   * @throws {ArgumentError} if x has no such axis
   */
  sort(params?: {
    /** Axis to sort. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** Whether the largest value comes first. @defaultValue false */
    readonly descending?: boolean;
  }): Handle;

  /**
   * Square root: `y = sqrt(x)`; NaN below 0.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sqrt}.
   * @throws {DTypeError} unless x is f32
   */
  sqrt(): Handle;

  /**
   * Causal convolution of each channel with its own filter over the latest K tokens of a sequence (Gu & Dao, 2023, "Mamba", section 3.4):
   * `y[t, c] = Σ_j filter[c, j] · x[t - K + 1 + j, c]`. With K = 3 it is the short convolution of LFM2.
   * `x [T, C], filter [C, K], state [S, K - 1, C], positions [T] i32, rows [T] i32 -> y [T, C]`, f32.
   *
   * Tokens before those of the call are in row `rows[t]` of the state, oldest first, where `ssmConvWrite` stored them. Tokens before
   * position 0 count as 0, so a state needs no reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
   * `x` is this tensor. See {@link ssmConv}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  ssmConv(filter: Handle, state: Handle, positions: Handle, rows: Handle): Handle;

  /**
   * Selective state space (Gu & Dao, 2023, "Mamba", algorithm 2), with heads and groups as in Mamba-2 (Dao & Gu, 2024). Head h with channels
   * p is in group g = h · G / H; its state s has N elements per channel. Each token updates the state, then reads it:
   * `s[h, p, n] = exp(dt[t, h] · a[h, n]) · s[h, p, n] + dt[t, h] · b[t, g, n] · x[t, h, p]`,
   * `y[t, h, p] = Σ_n c[t, g, n] · s[h, p, n]`.
   *
   * `x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], c [T, G, N], state [S, H, P, N], positions [T] i32, rows [T] i32 -> y [T, H,
   * P]`, f32. Mamba has P = 1 and G = 1.
   *
   * A sequence continues from row `rows[t]` of the state, where `ssmScanWrite` left it. At position 0 it starts from 0, so a state needs no
   * reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
   * `x` is this tensor. See {@link ssmScan}.
   * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
   * @throws {ArgumentError} for a row out of range, when the reference runs
   */
  ssmScan(dt: Handle, a: Handle, b: Handle, c: Handle, state: Handle, positions: Handle, rows: Handle): Handle;

  /**
   * Joins n tensors along a new axis.
   * `tensors[i] [...] -> y [..., n, ...]`, of one shape and one plain dtype.
   * The first of `tensors` is this tensor. See {@link stack}.
   * @throws {ShapeError} if the shapes differ
   * @throws {DTypeError} unless all tensors have one plain dtype
   * @throws {ArgumentError} if the result has no such axis
   */
  stack(
    others: readonly Handle[],
    params?: {
      /** Index of the new axis in the result. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
    },
  ): Handle;

  /**
   * Difference with broadcasting: `y = a - b`. i32 differences wrap.
   * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
   * `a` is this tensor. See {@link sub}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless both inputs are f32 or both are i32
   */
  sub(b: Handle): Handle;

  /**
   * Sum along an axis. An empty axis gives 0.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link sum}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  sum(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Sum along an axis with compensation (Kahan, 1965; Neumaier, 1974). An empty axis gives 0.
   *
   * The result is as accurate as a sum in twice the precision: small terms survive between large terms of opposite signs. `sum` is faster.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link sumKahan}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar
   * @throws {ArgumentError} if x has no such axis
   */
  sumKahan(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Picks along an axis by each line's own indices, like numpy's `take_along_axis`: `y[o, i, k] = x[o, indices[o, i, k], k]`. Takes the
   * indices that `argsort` and `topKIndices` return; `gather` picks whole slices.
   * `x [p..., n, q...], indices [p..., m, q...] i32 -> y [p..., m, q...]`, any plain dtype.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * `x` is this tensor. See {@link takeAlongAxis}.
   * @throws {DTypeError} unless x has a plain dtype and `indices` is i32
   * @throws {ShapeError} if x is a scalar, or the shapes differ in another axis
   * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs
   */
  takeAlongAxis(
    indices: Handle,
    params?: {
      /** Axis to pick along. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Handle;

  /**
   * Tangent: `y = tan(x)`, with x in radians.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link tan}.
   * @throws {DTypeError} unless x is f32
   */
  tan(): Handle;

  /**
   * Hyperbolic tangent: `y = tanh(x)`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link tanh}.
   * @throws {DTypeError} unless x is f32
   */
  tanh(): Handle;

  /**
   * The k largest (or smallest) values along an axis, in order. NaN counts as the largest value. `topKIndices` returns their indices.
   * `x [..., n, ...] -> y [..., k, ...]`, f32.
   * `x` is this tensor. See {@link topK}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is symbolic
   * @throws {ArgumentError} if x has no such axis or fewer than k elements along it
   */
  topK(params: {
    /** Number of values to take, from 0 to the axis's extent. */
    readonly k: number;
    /** Axis to take values along. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** True takes the largest values, largest first. False takes the smallest, smallest first. @defaultValue true */
    readonly largest?: boolean;
  }): Handle;

  /**
   * Indices of the k largest (or smallest) values along an axis, in the order of `topK`. Among equal values the first ones come first.
   * `x [..., n, ...] f32 -> y [..., k, ...] i32`.
   * `x` is this tensor. See {@link topKIndices}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if x is a scalar or the axis is symbolic
   * @throws {ArgumentError} if x has no such axis or fewer than k elements along it
   */
  topKIndices(params: {
    /** Number of values to take, from 0 to the axis's extent. */
    readonly k: number;
    /** Axis to take values along. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** True takes the largest values, largest first. False takes the smallest, smallest first. @defaultValue true */
    readonly largest?: boolean;
  }): Handle;

  /**
   * Permutes the axes; by default it reverses them, which transposes a matrix.
   * `x [...] -> y [...]`, any plain dtype.
   * `x` is this tensor. See {@link transpose}.
   * @throws {DTypeError} unless x has a plain dtype
   * @throws {ArgumentError} unless `axes` names each axis once
   */
  transpose(params?: {
    /** Axis i of the result is axis `axes[i]` of the input. A negative axis counts from the end; null reverses all axes. @defaultValue null */
    readonly axes?: readonly number[] | null;
  }): Handle;

  /**
   * Rounds toward zero to a whole number: `y = trunc(x)`.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link trunc}.
   * @throws {DTypeError} unless x is f32
   */
  trunc(): Handle;

  /**
   * Variance along an axis: `sum((x - mean(x))^2) / (n - correction)`. Two passes keep the precision of values that are close to a large
   * mean.
   * A symbolic axis gives NaN in a run where it has at most `correction` elements.
   *
   * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
   * `x` is this tensor. See {@link variance}.
   * @throws {DTypeError} unless x is f32
   * @throws {ShapeError} if `axis` is given for a scalar, or there are at most `correction` elements to reduce
   * @throws {ArgumentError} if x has no such axis, or `correction` is negative
   */
  variance(params?: {
    /** Axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Whether the result keeps reduced axes, with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
    /** Subtracted from n in the divisor: 0 for the variance of a population, 1 for that of a sample. @defaultValue 0 */
    readonly correction?: number;
  }): Handle;

  /**
   * Selects elements by a condition: `y = condition ? a : b`.
   * `condition [...] bool, a [...], b [...] -> y [...]` with broadcasting; `a` and `b` share one plain dtype.
   * `condition` is this tensor. See {@link where}.
   * @throws {ShapeError} if the shapes do not broadcast
   * @throws {DTypeError} unless `condition` is bool, and `a` and `b` have one plain dtype
   */
  where(a: Handle, b: Handle): Handle;
}
