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
   * `y = |x|`. `x [...] -> y [...]`.
   * See {@link abs}.
   * @throws {DTypeError} unless f32
   */
  abs(x: Handle): Result;

  /**
   * `y = acos(x)` in radians; NaN outside of [-1, 1]. `x [...] -> y [...]`.
   * See {@link acos}.
   * @throws {DTypeError} unless f32
   */
  acos(x: Handle): Result;

  /**
   * `y = log(x + sqrt(x^2 - 1))`; NaN below 1. `x [...] -> y [...]`.
   * See {@link acosh}.
   * @throws {DTypeError} unless f32
   */
  acosh(x: Handle): Result;

  /**
   * Sum with broadcasting: `y = a + b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`.
   * See {@link add}.
   * @throws {ShapeError | DTypeError}
   */
  add(a: Handle, b: Handle): Result;

  /**
   * Whether every element of an axis is true; true for an empty one.
   * `x [...] bool -> y [...] bool` without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link all}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  all(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Whether an axis has a true element; false for an empty one.
   * `x [...] bool -> y [...] bool` without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link any}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  any(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Equidistant numbers: `y[i] = start + i * step`. `-> y [count]`, f32 or i32. A count instead of an end: the extent of numpy's form
   * depends on how a quotient rounds.
   * See {@link arange}.
   * @throws {ShapeError | ArgumentError} also where an i32 would overflow
   */
  arange(params: {
    /** How many numbers. It may be symbolic. */
    readonly count: Dim;
    /** The first number. @defaultValue 0 */
    readonly start?: number;
    /** Difference between neighbours. @defaultValue 1 */
    readonly step?: number;
    /** The dtype of the result. @defaultValue "f32" */
    readonly dtype?: "f32" | "i32";
  }): Result;

  /**
   * Index of the largest value along an axis, the first of equals; a NaN counts as the largest (numpy's rule).
   * `x [...] f32 -> y [...] i32` without the axis. An axis that is empty only in a run gives 0.
   * See {@link argmax}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  argmax(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Index of the smallest value along an axis, the first of equals; a NaN counts as the smallest (numpy's rule).
   * `x [...] f32 -> y [...] i32` without the axis. An axis that is empty only in a run gives 0.
   * See {@link argmin}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  argmin(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Indices that sort along an axis; equal values keep their order, a NaN counts as the largest. `x [...] f32 -> y [...] i32`.
   * See {@link argsort}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  argsort(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** True puts the largest value first. @defaultValue false */
      readonly descending?: boolean;
    },
  ): Result;

  /**
   * `y = asin(x)` in radians; NaN outside of [-1, 1]. `x [...] -> y [...]`.
   * See {@link asin}.
   * @throws {DTypeError} unless f32
   */
  asin(x: Handle): Result;

  /**
   * `y = log(x + sqrt(x^2 + 1))`. `x [...] -> y [...]`.
   * See {@link asinh}.
   * @throws {DTypeError} unless f32
   */
  asinh(x: Handle): Result;

  /**
   * Copies `value` into a persistent and returns its next version. `target [...], value [...] -> y [...]`, of one shape and
   * dtype, f32 or i32.
   * See {@link assign}.
   * @throws {ShapeError | DTypeError | ProgramError}
   */
  assign(target: Handle, value: Handle): Result;

  /**
   * `y = atan(x)` in radians. `x [...] -> y [...]`.
   * See {@link atan}.
   * @throws {DTypeError} unless f32
   */
  atan(x: Handle): Result;

  /**
   * `y = log((1 + x) / (1 - x)) / 2`; infinite at 1 and -1, NaN outside. `x [...] -> y [...]`.
   * See {@link atanh}.
   * @throws {DTypeError} unless f32
   */
  atanh(x: Handle): Result;

  /**
   * Attention (Vaswani et al., 2017) over a paged cache (Kwon et al., 2023) that `kvWrite` filled. Query `t` of sequence `s = seqOf[t]` sees
   * the positions `j` in `[0, seqLens[s])` that are not after `positions[t]` (if causal) and are `> positions[t] - window` (if there is a
   * window); position `j` is in slot `blockTable[s, floor(j / blockSize)] * blockSize + j % blockSize`. Head `h` reads head
   * `floor(h * Hkv / H)` of the cache: `score = scale * q . k`, soft-capped, plus `slope(h) * (j - positions[t])` with ALiBi;
   * `y = sum(softmax(score) * v)`. `sinks[h]` is one more logit in the softmax, without a value. A query that sees nothing gives 0.
   *
   * `q [T, H, dK], cache [S, Hkv, dK + dV] f32 | f16 | q8_0, positions [T], seqOf [T], blockTable [nSeq, maxBlocks],
   * seqLens [nSeq] i32, sinks [H] -> y [T, H, dV]`. One sequence is the table `[[0]]` with `blockSize = S`.
   *
   * Indices outside the tables are an error on the scalar reference; other backends treat such positions as not seen.
   * See {@link attention}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  attention(
    q: Handle,
    cache: Handle,
    positions: Handle,
    seqOf: Handle,
    blockTable: Handle,
    seqLens: Handle,
    params: {
      /** Multiplies `q . k`, usually `1 / sqrt(dK)`. */
      readonly scale: number;
      /** Positions per block of the block table. */
      readonly blockSize: number;
      /** A query sees no position after its own. @defaultValue true */
      readonly causal?: boolean;
      /** A query sees its own and the `window - 1` positions before; 0 means all. @defaultValue 0 */
      readonly window?: number;
      /** Scores become `softcap * tanh(score / softcap)`; 0 leaves the scores unchanged. @defaultValue 0 */
      readonly softcap?: number;
      /** Largest bias of ALiBi (ggml's `max_bias`); 0 means none. @defaultValue 0 */
      readonly alibi?: number;
      /** "half" permits a backend to round the operands of both products to f16, as for `matmul`. @defaultValue "f32" */
      readonly activations?: "f32" | "half";
      /** Optional tensor; the op describes it. */
      readonly sinks?: Handle;
    },
  ): Result;

  /**
   * Mean of each window.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, `H' = floor((H + 2 padding - kernel) / stride) + 1`.
   * See {@link avgPool2d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  avgPool2d(
    x: Handle,
    params: {
      /** Extents of a window. */
      readonly kernel: Pair;
      /** null: the kernel's size, so that windows do not overlap. @defaultValue null */
      readonly stride?: Pair | null;
      /** Added on each of the two sides; at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
      readonly padding?: Pair;
      /** Divide by the kernel's size everywhere, the zeros of the padding included, as PyTorch does unless told otherwise. @defaultValue true */
      readonly countPadding?: boolean;
    },
  ): Result;

  /**
   * Batch norm (Ioffe & Szegedy, 2015) with stored statistics, as at inference:
   * `y = (x - mean[c]) / sqrt(variance[c] + eps) * w[c] + bias[c]`.
   * `x [N, C, ...], mean [C], variance [C], w [C], bias [C] -> y [N, C, ...]`, f32.
   * See {@link batchNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  batchNorm(
    x: Handle,
    mean: Handle,
    variance: Handle,
    w: Handle,
    bias: Handle,
    params: {
      /** Added to the variance. */
      readonly eps: number;
    },
  ): Result;

  /**
   * The same values in another plain dtype. A float to an integer truncates toward zero and saturates, NaN becomes 0; integers to
   * integers keep the low bits; to bool it is `x != 0` (NaN is true), from bool 0 or 1. To f16 and bf16 it rounds to the nearest f32
   * first, then to the nearest of the type, ties to even. `x [...] -> y [...]`. Block types: `quantize`, `dequantize`.
   * See {@link cast}.
   * @throws {DTypeError | ArgumentError}
   */
  cast(
    x: Handle,
    params: {
      /** The dtype of the result. */
      readonly dtype: ScalarType;
    },
  ): Result;

  /**
   * Smallest whole number from x. `x [...] -> y [...]`.
   * See {@link ceil}.
   * @throws {DTypeError} unless f32
   */
  ceil(x: Handle): Result;

  /**
   * `y = min(max(x, min), max)`; NaN stays NaN. `x [...] -> y [...]`, f32.
   * See {@link clip}.
   * @throws {DTypeError | ArgumentError}
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
   * Joins tensors along an axis. `tensors[i] [..., n_i, ...] -> y [..., n_0 + n_1 + ..., ...]`, one or more of one plain
   * dtype; the other extents are the same.
   * See {@link concat}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  concat(
    tensors: readonly Handle[],
    params: {
      /** The axis. A negative axis counts from the end. */
      readonly axis: number;
    },
  ): Result;

  /**
   * Cross-correlation along one axis: `y[n, o, i] = sum(c, p) x[n, c, i * stride + p * dilation - padding] * w[o, c, p]`, outside of
   * `x` is 0. `x [N, C, L], w [O, C / groups, k] -> y [N, O, L']`, f32, `L' = floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1`.
   * See {@link conv1d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  conv1d(
    x: Handle,
    w: Handle,
    params?: {
      /** Distance between windows. @defaultValue 1 */
      readonly stride?: number;
      /** Zeros added on each of the two sides. For different sides, e.g. a causal convolution, use `pad` first. @defaultValue 0 */
      readonly padding?: number;
      /** Distance between the elements of `x` that one window reads. @defaultValue 1 */
      readonly dilation?: number;
      /** Number of groups. Output channels of a group see only the input channels of the same group. @defaultValue 1 */
      readonly groups?: number;
    },
  ): Result;

  /**
   * Cross-correlation, as deep-learning libraries call convolution:
   * `y[n, o, i, j] = sum(c, p, q) x[n, c, i * stride + p * dilation - padding, ...] * w[o, c, p, q]`, outside of `x` is 0.
   * `x [N, C, H, W], w [O, C / groups, kh, kw] -> y [N, O, H', W']`, f32, `H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1`.
   * See {@link conv2d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
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
   * The magnitude of `a` with the sign of `b`, its sign bit: -0 counts as negative. With broadcasting, f32. `a [...], b [...] -> y [...]`.
   * See {@link copysign}.
   * @throws {ShapeError | DTypeError}
   */
  copysign(a: Handle, b: Handle): Result;

  /**
   * `y = cos(x)`, x in radians. `x [...] -> y [...]`.
   * See {@link cos}.
   * @throws {DTypeError} unless f32
   */
  cos(x: Handle): Result;

  /**
   * `y = (exp(x) + exp(-x)) / 2`. `x [...] -> y [...]`.
   * See {@link cosh}.
   * @throws {DTypeError} unless f32
   */
  cosh(x: Handle): Result;

  /**
   * Running product along an axis, the element itself included. `x [...] -> y [...]`, f32.
   * See {@link cumprod}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  cumprod(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Running sum along an axis, the element itself included. `x [...] -> y [...]`, f32.
   * See {@link cumsum}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  cumsum(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * The values of a storage type: `x [...]` of a block type, f16 or bf16 `-> y [...]` f32, exact.
   * See {@link dequantize}.
   * @throws {DTypeError}
   */
  dequantize(x: Handle): Result;

  /**
   * Quotient with broadcasting: `y = a / b`, f32; a zero divisor gives an infinity or NaN. `a [...], b [...] -> y [...]`.
   * See {@link div}.
   * @throws {ShapeError | DTypeError}
   */
  div(a: Handle, b: Handle): Result;

  /**
   * Inner product: `y = sum(a * b)`. `a [n], b [n] -> y []`, f32.
   * See {@link dot}.
   * @throws {ShapeError | DTypeError}
   */
  dot(a: Handle, b: Handle): Result;

  /**
   * One element as a scalar that later ops take: `y = x.flat[index]`. `x [...] -> y []`, f32 or i32. It is a copy, so it keeps
   * its value when `x` is written later.
   * See {@link element}.
   * @throws {DTypeError | ArgumentError}
   */
  element(
    x: Handle,
    params: {
      /** Row-major index of the element. */
      readonly index: number;
    },
  ): Result;

  /**
   * `y = x` from 0, `alpha * (exp(x) - 1)` below (Clevert et al., 2015); NaN stays NaN. `x [...] -> y [...]`, f32.
   * See {@link elu}.
   * @throws {DTypeError | ArgumentError}
   */
  elu(
    x: Handle,
    params?: {
      /** Large negative values approach `-alpha`. @defaultValue 1 */
      readonly alpha?: number;
    },
  ): Result;

  /**
   * Rows of a table: `y[..., :] = table[ids[...], :]`. `table [V, d], ids [...] i32 -> y [..., d] f32`. The table is f32, f16,
   * bf16 or a block type. It also picks rows of activations.
   *
   * An id outside `[0, V)` is an error on the scalar reference; other backends write a row of zeros and never read outside the table.
   * See {@link embedding}.
   * @throws {ShapeError | DTypeError} and, when the reference runs, {ArgumentError}
   */
  embedding(table: Handle, ids: Handle): Result;

  /**
   * `y = a == b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * See {@link equal}.
   * @throws {ShapeError | DTypeError}
   */
  equal(a: Handle, b: Handle): Result;

  /**
   * `y = e^x`. `x [...] -> y [...]`.
   * See {@link exp}.
   * @throws {DTypeError} unless f32
   */
  exp(x: Handle): Result;

  /**
   * Repeats `x` to a larger shape by the rule of broadcasting. `x [...] -> y [...shape]`, any plain dtype.
   * See {@link expand}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  expand(
    x: Handle,
    params: {
      /** What `x` broadcasts to: its axes, aligned at the last, with extents of 1 stretched, and any new axes before them. */
      readonly shape: Shape;
    },
  ): Result;

  /**
   * Identity matrix: ones on the main diagonal, zeros elsewhere. `-> y [rows, columns]`, f32.
   * See {@link eye}.
   * @throws {ArgumentError}
   */
  eye(params: {
    /** Number of rows. */
    readonly rows: number;
    /** Number of columns; null for as many as rows. @defaultValue null */
    readonly columns?: number | null;
  }): Result;

  /**
   * Largest whole number up to x. `x [...] -> y [...]`.
   * See {@link floor}.
   * @throws {DTypeError} unless f32
   */
  floor(x: Handle): Result;

  /**
   * `y = a * b + c` with broadcasting, f32. Backends may round the product before they add.
   * `a [...], b [...], c [...] -> y [...]`.
   * See {@link fma}.
   * @throws {ShapeError | DTypeError}
   */
  fma(a: Handle, b: Handle, c: Handle): Result;

  /**
   * `y = x - floor(x)`, from 0 up to 1, as in shading languages; NaN for the infinities. `x [...] -> y [...]`.
   * See {@link fract}.
   * @throws {DTypeError} unless f32
   */
  fract(x: Handle): Result;

  /**
   * A tensor of one value, in any plain dtype: `-> y [...shape]`.
   * See {@link full}.
   * @throws {ShapeError | ArgumentError}
   */
  full(params: {
    /** Shape of the result. */
    readonly shape: Shape;
    /** A value that `dtype` can represent. */
    readonly value: number;
    /** A plain dtype. @defaultValue "f32" */
    readonly dtype?: ScalarType;
  }): Result;

  /**
   * Picks along an axis: `y[..., i..., ...] = x[..., indices[i...], ...]` (numpy's `take`). `x [p..., n, q...], indices [i...] i32 ->
   * y [p..., i..., q...]`, any plain dtype; `embedding` picks rows of quantised tables.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * See {@link gather}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  gather(
    x: Handle,
    indices: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * `y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`: the tanh form of the Gaussian error linear unit
   * (Hendrycks & Gimpel, 2016). `x [...] -> y [...]`.
   * See {@link gelu}.
   * @throws {DTypeError} unless f32
   */
  gelu(x: Handle): Result;

  /**
   * `y = 0.5 * x * (1 + erf(x / sqrt(2)))`: the exact form of the Gaussian error linear unit (Hendrycks & Gimpel, 2016); `gelu` is the
   * tanh form. `x [...] -> y [...]`.
   * See {@link geluErf}.
   * @throws {DTypeError} unless f32
   */
  geluErf(x: Handle): Result;

  /**
   * `y = a > b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * See {@link greater}.
   * @throws {ShapeError | DTypeError}
   */
  greater(a: Handle, b: Handle): Result;

  /**
   * `y = a >= b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * See {@link greaterEqual}.
   * @throws {ShapeError | DTypeError}
   */
  greaterEqual(a: Handle, b: Handle): Result;

  /**
   * Group norm (Wu & He, 2018): each group of channels of each item gets mean 0 and variance 1, then `y = ... * w[c] + bias[c]`. Population
   * variance in two passes. `x [N, C, ...], w [C], bias [C]? -> y [N, C, ...]`, f32.
   * See {@link groupNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  groupNorm(
    x: Handle,
    w: Handle,
    params: {
      /** Number of groups of adjacent channels. 1 normalises over all C channels, C is an instance norm. */
      readonly groups: number;
      /** Added to the variance. */
      readonly eps: number;
      /** Optional tensor; the op describes it. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * `y = x * min(max(x + 3, 0), 6) / 6`; 0 up to -3, x from 3 (Howard et al., 2019). `x [...] -> y [...]`.
   * See {@link hardswish}.
   * @throws {DTypeError} unless f32
   */
  hardswish(x: Handle): Result;

  /**
   * Stores keys and values of T tokens in a cache: `cache[slots[t], h] = [k[t, h], v[t, h]]`, and returns its next version.
   * `cache [S, Hkv, dK + dV] f32 | f16 | q8_0, k [T, Hkv, dK], v [T, Hkv, dV], slots [T] i32 -> cache`. Slots of one call
   * should differ; of equal ones, which token stays is not defined.
   *
   * A slot outside `[0, S)` is an error on the scalar reference; other backends skip the token.
   * See {@link kvWrite}.
   * @throws {ShapeError | DTypeError | ProgramError} and, when the reference runs, {ArgumentError}
   */
  kvWrite(cache: Handle, k: Handle, v: Handle, slots: Handle): Result;

  /**
   * Layer norm over the last axis (Ba et al., 2016): `y = (x - mean(x)) / sqrt(variance(x) + eps) * w + bias`, with the population
   * variance, computed in two passes.
   * `x [..., n], w [n], bias [n]? -> y [..., n]`, f32.
   * See {@link layerNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  layerNorm(
    x: Handle,
    w: Handle,
    params: {
      /** Added to the variance. */
      readonly eps: number;
      /** Optional tensor; the op describes it. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * `y = x` from 0, `slope * x` below; NaN stays NaN. `x [...] -> y [...]`, f32.
   * See {@link leakyRelu}.
   * @throws {DTypeError | ArgumentError}
   */
  leakyRelu(
    x: Handle,
    params?: {
      /** Factor of negative values. @defaultValue 0.01 */
      readonly slope?: number;
    },
  ): Result;

  /**
   * Linear interpolation `y = a + t * (b - a)` with broadcasting, f32; `t` may be outside [0, 1].
   * `a [...], b [...], t [...] -> y [...]`.
   * See {@link lerp}.
   * @throws {ShapeError | DTypeError}
   */
  lerp(a: Handle, b: Handle, t: Handle): Result;

  /**
   * `y = a < b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * See {@link less}.
   * @throws {ShapeError | DTypeError}
   */
  less(a: Handle, b: Handle): Result;

  /**
   * `y = a <= b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * See {@link lessEqual}.
   * @throws {ShapeError | DTypeError}
   */
  lessEqual(a: Handle, b: Handle): Result;

  /**
   * `y = log(x)`: the natural logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`.
   * See {@link log}.
   * @throws {DTypeError} unless f32
   */
  log(x: Handle): Result;

  /**
   * `y = log10(x)`: the base-10 logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`.
   * See {@link log10}.
   * @throws {DTypeError} unless f32
   */
  log10(x: Handle): Result;

  /**
   * `y = log2(x)`: the base-2 logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`.
   * See {@link log2}.
   * @throws {DTypeError} unless f32
   */
  log2(x: Handle): Result;

  /**
   * `y = x - max(x) - log(sum(exp(x - max(x))))` along an axis. `x [...] -> y [...]`, f32. A row of nothing but -Infinity
   * gives NaN, as in PyTorch.
   * See {@link logSoftmax}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  logSoftmax(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * `y = a && b` with broadcasting. `a [...], b [...] -> y [...]`, all bool.
   * See {@link logicalAnd}.
   * @throws {ShapeError | DTypeError}
   */
  logicalAnd(a: Handle, b: Handle): Result;

  /**
   * `y = !x`. `x [...] bool -> y [...] bool`.
   * See {@link logicalNot}.
   * @throws {DTypeError} unless bool
   */
  logicalNot(x: Handle): Result;

  /**
   * `y = a || b` with broadcasting. `a [...], b [...] -> y [...]`, all bool.
   * See {@link logicalOr}.
   * @throws {ShapeError | DTypeError}
   */
  logicalOr(a: Handle, b: Handle): Result;

  /**
   * `y = a != b` with broadcasting. `a [...], b [...] -> y [...]`, all bool.
   * See {@link logicalXor}.
   * @throws {ShapeError | DTypeError}
   */
  logicalXor(a: Handle, b: Handle): Result;

  /**
   * Matrix product with broadcast batch axes: `a [..., m, k] x b [..., k, n] -> y [..., m, n]`, f32.
   * `a` is f32; `b` is f32, f16, bf16 or a block type (then `transposeB`, blocks along k).
   * See {@link matmul}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  matmul(
    a: Handle,
    b: Handle,
    params?: {
      /** `a` is stored as `[..., k, m]`. @defaultValue false */
      readonly transposeA?: boolean;
      /** `b` is stored as `[..., n, k]`: how GGUF stores weights. Quantised `b` must be stored so. @defaultValue false */
      readonly transposeB?: boolean;
      /**
       * Precision of the operands. Sums are f32 in every mode.
       *
       * - "f32" multiplies exact activations with the dequantised weights.
       * - "half" permits a backend to round both operands to f16, with rows scaled by a power of two where they would overflow, or to bf16
       *   for bf16 weights, as tensor cores do. A result differs from the exact one by at most `2^-10` (bf16: `2^-7`) times the sum of the
       *   products' magnitudes. A backend may also compute exactly, as the reference does.
       * - "ggml" first rounds each row of `a` as ggml's CPU code does: for a quantised `b` to the 8-bit blocks that it pairs with that type,
       *   which changes results by about 1e-2 relative, and for f16 and bf16 to the type of `b`. With f32 it is "f32".
       * @defaultValue "f32"
       */
      readonly activations?: Activations;
    },
  ): Result;

  /**
   * Largest value over an axis; NaN if any element is NaN. An axis that is empty only in a run gives -Infinity.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link max}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  max(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Largest value of each window; padding never counts, NaN does.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, `H' = floor((H + 2 padding - kernel) / stride) + 1`.
   * See {@link maxPool2d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  maxPool2d(
    x: Handle,
    params: {
      /** Extents of a window. */
      readonly kernel: Pair;
      /** null: the kernel's size, so that windows do not overlap. @defaultValue null */
      readonly stride?: Pair | null;
      /** Added on each of the two sides; at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
      readonly padding?: Pair;
    },
  ): Result;

  /**
   * The larger of two with broadcasting, f32 or i32; NaN if either is. `a [...], b [...] -> y [...]`.
   * See {@link maximum}.
   * @throws {ShapeError | DTypeError}
   */
  maximum(a: Handle, b: Handle): Result;

  /**
   * Mean over an axis: `sum(x) / n`. An axis that is empty only in a run gives NaN.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link mean}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  mean(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Smallest value over an axis; NaN if any element is NaN. An axis that is empty only in a run gives Infinity.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link min}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  min(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * The smaller of two with broadcasting, f32 or i32; NaN if either is. `a [...], b [...] -> y [...]`.
   * See {@link minimum}.
   * @throws {ShapeError | DTypeError}
   */
  minimum(a: Handle, b: Handle): Result;

  /**
   * `y = x * tanh(log(1 + exp(x)))` (Misra, 2019). `x [...] -> y [...]`.
   * See {@link mish}.
   * @throws {DTypeError} unless f32
   */
  mish(x: Handle): Result;

  /**
   * Products of tokens with their chosen experts: `y[t, i] = experts[ids[t, i]] · x[t, i]`, f32.
   * `x [T, K]` (one vector for all experts of a token) or `[T, k, K]` (one for each), `experts [E, N, K]` f32, f16, bf16 or a block type,
   * `ids [T, k] i32 -> y [T, k, N]`.
   *
   * An id outside `[0, E)` is an error on the scalar reference; other backends give zeros.
   * See {@link moeMatmul}.
   * @throws {ShapeError | DTypeError | ArgumentError} and, when the reference runs, {ArgumentError}
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
   * Chooses experts: the `k` with the largest scores, best first, the lower index first among equals. `logits [T, E]`, optional
   * `bias [E] -> ids [T, k] i32`. The score of an expert is its gate (see `moeWeights`) plus the bias, which takes no part in the weights
   * (DeepSeek-AI, 2024, "DeepSeek-V3", section 2.1.2). A NaN counts as the smallest score.
   * See {@link moeRoute}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  moeRoute(
    logits: Handle,
    params: {
      /** Experts for each token. */
      readonly k: number;
      /** What scores are made of logits before the bias is added. @defaultValue "softmax" */
      readonly gating?: Gating;
      /** Groups of equal size that the experts are in, of which a token uses only some. 1: no groups. @defaultValue 1 */
      readonly groups?: number;
      /** Groups that a token uses: those with the largest sums of their two best scores. @defaultValue 1 */
      readonly topKGroups?: number;
      /** Optional tensor; the op describes it. */
      readonly bias?: Handle;
    },
  ): Result;

  /**
   * Weights of chosen experts: `y[t, i]` is the gate of expert `ids[t, i]`. `logits [T, E], ids [T, k] i32 -> y [T, k]`, f32.
   *
   * An id outside `[0, E)` is an error on the scalar reference; elsewhere its weight is not defined.
   * See {@link moeWeights}.
   * @throws {ShapeError | DTypeError | ArgumentError} and, when the reference runs, {ArgumentError}
   */
  moeWeights(
    logits: Handle,
    ids: Handle,
    params?: {
      /** See {@link Gating}: the same as of `moeRoute`. @defaultValue "softmax" */
      readonly gating?: Gating;
      /** Whether the weights of a token are divided by their sum, of which 2^-14 is the least (ggml's guard against division by zero). @defaultValue false */
      readonly normalize?: boolean;
      /** Multiplies the weights in the last step. @defaultValue 1 */
      readonly scale?: number;
    },
  ): Result;

  /**
   * Product with broadcasting: `y = a * b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`.
   * See {@link mul}.
   * @throws {ShapeError | DTypeError}
   */
  mul(a: Handle, b: Handle): Result;

  /**
   * `y = -x`. `x [...] -> y [...]`.
   * See {@link neg}.
   * @throws {DTypeError} unless f32
   */
  neg(x: Handle): Result;

  /**
   * L1 norm over an axis: `sum(|x|)`; 0 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link normL1}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  normL1(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * L2 norm over an axis: `sqrt(sum(x^2))`; 0 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link normL2}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  normL2(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Maximum norm over an axis: `max(|x|)`; NaN if any element is NaN, 0 for an empty axis.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link normLinf}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  normLinf(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * `y = a != b`; true where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * See {@link notEqual}.
   * @throws {ShapeError | DTypeError}
   */
  notEqual(a: Handle, b: Handle): Result;

  /**
   * Puts a constant around a tensor. `x [n, ...] -> y [before + n + after, ...]`, any plain dtype.
   * See {@link pad}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  pad(
    x: Handle,
    params: {
      /** One pair per axis: how many elements to add before and after it. */
      readonly pads: readonly (readonly [before: number, after: number])[];
      /** The constant, a value that the dtype of `x` can represent. @defaultValue 0 */
      readonly value?: number;
    },
  ): Result;

  /**
   * `y = x^exponent`, with a constant exponent; `power` takes a tensor of exponents. IEEE 754's rules.
   * `x [...] -> y [...]`, f32.
   * See {@link pow}.
   * @throws {DTypeError | ArgumentError}
   */
  pow(
    x: Handle,
    params: {
      /** The exponent. It may be infinite. */
      readonly exponent: number;
    },
  ): Result;

  /**
   * `y = a^b` with broadcasting, f32, as IEEE 754 defines it: NaN for a negative base with an exponent that is no whole number,
   * 1 for `a = 1` or `b = 0` whatever the other is. `pow` has a fixed exponent. `a [...], b [...] -> y [...]`.
   * See {@link power}.
   * @throws {ShapeError | DTypeError}
   */
  power(a: Handle, b: Handle): Result;

  /**
   * Product over an axis; 1 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link prod}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  prod(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Rounds to blocks along the last axis, bit for bit as ggml does. `x [..., n] f32 -> y [..., n]` of a block type, n a multiple of its
   * block. Values must be finite: the scalar reference throws, elsewhere a block with one that is not has NaN as its scale. The other block
   * types are read (`dequantize`), not made; `cast` makes f16 and bf16.
   * See {@link quantize}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  quantize(
    x: Handle,
    params?: {
      /** The block type. @defaultValue "q8_0" */
      readonly dtype?: QuantizedType;
    },
  ): Result;

  /**
   * Random numbers, counter-based: element i is made from word `i % 4` of Philox4x32-10 (Salmon et al., 2011) with the 64-bit key
   * `seed` and the counter `[floor(i / 4) low, floor(i / 4) high, draw, 0]`. Uniform: `(word >>> 8) * 2^-24`. Normal: pairs of words by Box
   * and Muller, `sqrt(-2 log(u + 2^-24)) * (cos, sin)(2 pi v)`. A plan gives the same numbers at every run, unless `draw` (an i32 scalar, 0
   * if left out) changes. `draw []? -> y [...shape]`, f32.
   * See {@link random}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  random(params: {
    /** Shape of the result. */
    readonly shape: Shape;
    /** A whole number from 0; the same seed gives the same numbers everywhere. */
    readonly seed: number;
    /** "uniform": multiples of 2^-24 in [0, 1). "normal": mean 0 and variance 1. @defaultValue "uniform" */
    readonly distribution?: "uniform" | "normal";
    /** Optional tensor; the op describes it. */
    readonly draw?: Handle;
  }): Result;

  /**
   * `y = 1 / x`; an infinity at 0. `x [...] -> y [...]`.
   * See {@link reciprocal}.
   * @throws {DTypeError} unless f32
   */
  reciprocal(x: Handle): Result;

  /**
   * `y = max(x, 0)`; NaN stays NaN. `x [...] -> y [...]`.
   * See {@link relu}.
   * @throws {DTypeError} unless f32
   */
  relu(x: Handle): Result;

  /**
   * The same elements in row-major order, with another shape; nothing is computed. `x [...] -> y [...shape]`, any plain dtype.
   * See {@link reshape}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  reshape(
    x: Handle,
    params: {
      /** Symbolic dims of `x` must all appear; the product of the other extents must stay. */
      readonly shape: Shape;
    },
  ): Result;

  /**
   * Root-mean-square norm over the last axis (Zhang & Sennrich, 2019): `y = x / sqrt(mean(x^2) + eps) * w`.
   * `x [..., n], w [n] -> y [..., n]`, f32.
   * See {@link rmsNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  rmsNorm(
    x: Handle,
    w: Handle,
    params: {
      /** Added to the mean of squares. */
      readonly eps: number;
    },
  ): Result;

  /**
   * Rotary position embedding (Su et al., 2021): rotates pair `i` of head vectors by
   * `angle(t, i) = positions[t] * scale * base^(-2i / dims) / freqFactors[i]`, `(p, q) -> (p cos - q sin, p sin + q cos)`.
   * `x [T, H, D], positions [T] i32, freqFactors [dims / 2] -> y [T, H, D]`, f32. Elements from `dims` on are copied; without
   * `freqFactors` they are 1.
   * See {@link rope}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  rope(
    x: Handle,
    positions: Handle,
    params: {
      /** How many leading elements of each head are rotated, an even number; 0 means all. @defaultValue 0 */
      readonly dims?: number;
      /** Base of the geometric series of frequencies. @defaultValue 10000 */
      readonly base?: number;
      /** Elements that form a pair, in the names of llama.cpp: (2i, 2i + 1) for "norm", (i, i + dims / 2) for "neox". */
      readonly ropeType: "norm" | "neox";
      /** Multiplies the position: linear context scaling by 2 is 0.5. @defaultValue 1 */
      readonly scale?: number;
      /** Optional tensor; the op describes it. */
      readonly freqFactors?: Handle;
    },
  ): Result;

  /**
   * Nearest whole number, halves to the even one, as numpy and IEEE 754 do. `x [...] -> y [...]`.
   * See {@link round}.
   * @throws {DTypeError} unless f32
   */
  round(x: Handle): Result;

  /**
   * `y = 1 / sqrt(x)`; Infinity at 0, NaN below. `x [...] -> y [...]`.
   * See {@link rsqrt}.
   * @throws {DTypeError} unless f32
   */
  rsqrt(x: Handle): Result;

  /**
   * Chooses an index of each row by its probability, `softmax` of the row over `temperature`, after top-k, top-p and min-p in this
   * order (llama.cpp's): the first candidate at which the running sum of probabilities exceeds the random number. Candidates are
   * in order of descending logits (equal ones by index) if top-k or top-p sorts them, else by index. The random number is
   * {@link uniformAt} of the seed and the row's position, so that any step can be repeated alone.
   * `logits [..., n] f32, position [...] i32 -> y [...] i32`. Logits at -Infinity are never chosen; NaN, +Infinity or a row without a
   * finite logit is an error on the scalar reference, and gives -1 on the others.
   * See {@link sample}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sample(
    logits: Handle,
    position: Handle,
    params: {
      /** A whole number from 0; the same seed, position and logits give the same choice everywhere. */
      readonly seed: number;
      /** Divides the logits; 0 always takes the greatest. @defaultValue 1 */
      readonly temperature?: number;
      /** Keeps the k greatest logits; 0 keeps all. @defaultValue 0 */
      readonly topK?: number;
      /** Keeps the most likely candidates whose probabilities add up to p, at least one; 1 keeps all. @defaultValue 1 */
      readonly topP?: number;
      /** Keeps candidates that are at least p times as likely as the most likely one; 0 keeps all. @defaultValue 0 */
      readonly minP?: number;
    },
  ): Result;

  /**
   * `y = x * by`, with a constant factor. `x [...] -> y [...]`, f32.
   * See {@link scale}.
   * @throws {DTypeError | ArgumentError}
   */
  scale(
    x: Handle,
    params: {
      /** The factor, a finite number. */
      readonly by: number;
    },
  ): Result;

  /**
   * A copy of `x` with slices along an axis written: `y[..., indices[i], ...] = updates[..., i, ...]`, or `+=`. The inverse of `gather`.
   * `x [p..., n, q...], indices [m] i32, updates [p..., m, q...] -> y [p..., n, q...]`, any plain dtype.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * See {@link scatter}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  scatter(
    x: Handle,
    indices: Handle,
    updates: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
      /** "replace": the last of equal indices wins. "add": all are added to the element of `x` (f32 or wrapping i32). @defaultValue "replace" */
      readonly mode?: "replace" | "add";
    },
  ): Result;

  /**
   * `y = lambda * x` above 0, `lambda * alpha * (exp(x) - 1)` below: the self-normalising unit (Klambauer et al., 2017). `x [...] -> y [...]`.
   * See {@link selu}.
   * @throws {DTypeError} unless f32
   */
  selu(x: Handle): Result;

  /**
   * `y = 1 / (1 + exp(-x))`. `x [...] -> y [...]`.
   * See {@link sigmoid}.
   * @throws {DTypeError} unless f32
   */
  sigmoid(x: Handle): Result;

  /**
   * `y = 1` above 0, `-1` below, `0` at 0; NaN stays NaN. `x [...] -> y [...]`.
   * See {@link sign}.
   * @throws {DTypeError} unless f32
   */
  sign(x: Handle): Result;

  /**
   * `y = x / (1 + exp(-x))`, also called swish (Ramachandran et al., 2017). `x [...] -> y [...]`.
   * See {@link silu}.
   * @throws {DTypeError} unless f32
   */
  silu(x: Handle): Result;

  /**
   * `y = sin(x)`, x in radians. `x [...] -> y [...]`.
   * See {@link sin}.
   * @throws {DTypeError} unless f32
   */
  sin(x: Handle): Result;

  /**
   * `y = (exp(x) - exp(-x)) / 2`. `x [...] -> y [...]`.
   * See {@link sinh}.
   * @throws {DTypeError} unless f32
   */
  sinh(x: Handle): Result;

  /**
   * Part of an axis: `y[..., i, ...] = x[..., start + i * step, ...]`, for indices below `end`. Bounds outside of the axis are errors,
   * not clipped. A symbolic axis can only be taken whole; a symbolic `end` needs `start: 0` and `step: 1`.
   * `x [..., n, ...] -> y [..., ceil((end - start) / step), ...]`, any plain dtype. Several slices split a tensor.
   * See {@link slice}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  slice(
    x: Handle,
    params: {
      /** The axis. A negative axis counts from the end. */
      readonly axis: number;
      /** First index. A negative index counts from the end. @defaultValue 0 */
      readonly start?: number;
      /**
       * Index after the last one. A negative index counts from the end; null takes the rest. A symbolic dim takes as many elements as
       * it has in a run.
       * @defaultValue null
       */
      readonly end?: Dim | null;
      /** Distance between the indices that are taken, from 1. @defaultValue 1 */
      readonly step?: number;
    },
  ): Result;

  /**
   * `y = exp(x - max(x)) / sum(exp(x - max(x)))` along an axis. `x [...] -> y [...]`, f32. A row of nothing but -Infinity
   * gives NaN, as in PyTorch.
   * See {@link softmax}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  softmax(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * `y = log(1 + exp(x))`, without overflow. `x [...] -> y [...]`.
   * See {@link softplus}.
   * @throws {DTypeError} unless f32
   */
  softplus(x: Handle): Result;

  /**
   * Values in ascending or descending order along an axis; a NaN counts as the largest. `x [...] -> y [...]`, f32.
   * See {@link sort}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sort(
    x: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** True puts the largest value first. @defaultValue false */
      readonly descending?: boolean;
    },
  ): Result;

  /**
   * `y = sqrt(x)`; NaN below 0. `x [...] -> y [...]`.
   * See {@link sqrt}.
   * @throws {DTypeError} unless f32
   */
  sqrt(x: Handle): Result;

  /**
   * Causal convolution of each channel with a filter of its own over the latest K tokens of a sequence (Gu & Dao, 2023, "Mamba",
   * section 3.4; with K = 3 the short convolution of LFM2): `y[t, c] = Σ_j filter[c, j] · x[t - K + 1 + j, c]`.
   * `x [T, C], filter [C, K], state [S, K - 1, C], positions [T] i32, rows [T] i32 -> y [T, C]`, f32.
   *
   * Tokens before those of the call are in row `rows[t]` of the state, oldest first, where `ssmConvWrite` put them; those before position 0
   * count as 0, so a state needs no reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; elsewhere results of its tokens are not defined.
   * See {@link ssmConv}.
   * @throws {ShapeError | DTypeError} and, when the reference runs, {ArgumentError}
   */
  ssmConv(x: Handle, filter: Handle, state: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Keeps the latest tokens of each sequence for the next `ssmConv`, and returns the state's next version.
   * `state [S, K - 1, C], x [T, C], positions [T] i32, rows [T] i32 -> state`, f32; places before position 0 become 0.
   *
   * Rows must differ between sequences. One outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
   * See {@link ssmConvWrite}.
   * @throws {ShapeError | DTypeError | ProgramError} and, when the reference runs, {ArgumentError}
   */
  ssmConvWrite(state: Handle, x: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Selective state spaces (Gu & Dao, 2023, "Mamba", algorithm 2; heads and groups as in Dao & Gu, 2024, "Mamba-2"). For each head h with
   * channels p, in group g = h · G / H, the state s of N elements goes from token to token:
   * `s[h, p, n] = exp(dt[t, h] · a[h, n]) · s[h, p, n] + dt[t, h] · b[t, g, n] · x[t, h, p]` and `y[t, h, p] = Σ_n c[t, g, n] · s[h, p, n]`.
   * `x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], c [T, G, N], state [S, H, P, N], positions [T] i32, rows [T] i32 -> y [T, H, P]`,
   * f32. (Mamba: P = 1, G = 1.)
   *
   * A sequence goes on from row `rows[t]` of the state, where `ssmScanWrite` left it, and from 0 at position 0, so a state needs no reset.
   * The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; elsewhere results of its tokens are not defined.
   * See {@link ssmScan}.
   * @throws {ShapeError | DTypeError} and, when the reference runs, {ArgumentError}
   */
  ssmScan(x: Handle, dt: Handle, a: Handle, b: Handle, c: Handle, state: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Takes the states of sequences over some tokens, as `ssmScan` does, and returns their next version.
   * `state [S, H, P, N], x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], positions [T] i32, rows [T] i32 -> state`, f32.
   *
   * Rows must differ between sequences. One outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
   * See {@link ssmScanWrite}.
   * @throws {ShapeError | DTypeError | ProgramError} and, when the reference runs, {ArgumentError}
   */
  ssmScanWrite(state: Handle, x: Handle, dt: Handle, a: Handle, b: Handle, positions: Handle, rows: Handle): Result;

  /**
   * Tensors along a new axis, whose extent is their number. `n tensors [...] -> y [..., n, ...]`, of one shape and plain dtype.
   * See {@link stack}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  stack(
    tensors: readonly Handle[],
    params?: {
      /** Index of the new axis in the result. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * Difference with broadcasting: `y = a - b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`.
   * See {@link sub}.
   * @throws {ShapeError | DTypeError}
   */
  sub(a: Handle, b: Handle): Result;

  /**
   * Sum over an axis; 0 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link sum}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sum(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Sum over an axis with compensation (Kahan, 1965, as improved by Neumaier, 1974): as good as a sum in twice the precision, so that
   * large terms of opposite signs leave the small ones between them. 0 for an empty axis; `sum` is faster.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link sumKahan}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sumKahan(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
    },
  ): Result;

  /**
   * Picks along an axis, for each line by indices of its own: `y[o, i, k] = x[o, indices[o, i, k], k]` (numpy's `take_along_axis`), which
   * takes what `argsort`, `argmax` or `topKIndices` gave. `x [p..., n, q...], indices [p..., m, q...] i32 -> y [p..., m, q...]`, any plain
   * dtype; `gather` picks whole slices.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * See {@link takeAlongAxis}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  takeAlongAxis(
    x: Handle,
    indices: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Result;

  /**
   * `y = tan(x)`, x in radians. `x [...] -> y [...]`.
   * See {@link tan}.
   * @throws {DTypeError} unless f32
   */
  tan(x: Handle): Result;

  /**
   * `y = tanh(x)`. `x [...] -> y [...]`.
   * See {@link tanh}.
   * @throws {DTypeError} unless f32
   */
  tanh(x: Handle): Result;

  /**
   * The k largest (or smallest) values along an axis, in order; a NaN counts as the largest. `topKIndices` returns their indices.
   * `x [..., n, ...] -> y [..., k, ...]`, f32.
   * See {@link topK}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  topK(
    x: Handle,
    params: {
      /** How many values to take. */
      readonly k: number;
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** True takes the largest values, largest first; false the smallest, smallest first. @defaultValue true */
      readonly largest?: boolean;
    },
  ): Result;

  /**
   * Where along an axis the k largest (or smallest) values are, in the order of `topK`; of equal values the first come first.
   * `x [..., n, ...] f32 -> y [..., k, ...] i32`.
   * See {@link topKIndices}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  topKIndices(
    x: Handle,
    params: {
      /** How many values to take. */
      readonly k: number;
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
      /** True takes the largest values, largest first; false the smallest, smallest first. @defaultValue true */
      readonly largest?: boolean;
    },
  ): Result;

  /**
   * Permutes the axes: a matrix transpose, or any other order. `x [...] -> y [...]`, any plain dtype.
   * See {@link transpose}.
   * @throws {DTypeError | ArgumentError}
   */
  transpose(
    x: Handle,
    params?: {
      /** Axis i of the result is axis `axes[i]` of the input. A negative axis counts from the end; null reverses all axes. @defaultValue null */
      readonly axes?: readonly number[] | null;
    },
  ): Result;

  /**
   * The whole part: toward zero. `x [...] -> y [...]`.
   * See {@link trunc}.
   * @throws {DTypeError} unless f32
   */
  trunc(x: Handle): Result;

  /**
   * Variance over an axis, `sum((x - mean(x))^2) / (n - correction)`, in two passes: values of one size with a large mean keep their
   * digits. An axis that a run makes empty, or as short as `correction`, gives NaN.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * See {@link variance}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  variance(
    x: Handle,
    params?: {
      /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
      readonly axis?: number | null;
      /** Keep reduced axes with extent 1. @defaultValue false */
      readonly keepDims?: boolean;
      /** Subtracted from the count that the sum is divided by: 0 for the population's variance, 1 for a sample's. @defaultValue 0 */
      readonly correction?: number;
    },
  ): Result;

  /**
   * `y = condition ? a : b` element by element, with broadcasting. `condition [...] bool, a [...], b [...] -> y [...]`; `a` and `b`
   * of one plain dtype.
   * See {@link where}.
   * @throws {ShapeError | DTypeError}
   */
  where(condition: Handle, a: Handle, b: Handle): Result;
}

/** The ops as methods of their first tensor: `a.matmul(b, { transposeB: true })`, `a.concat([b, c], { axis: 0 })`. */
export interface ChainMethods<Handle> {
  /**
   * `y = |x|`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link abs}.
   * @throws {DTypeError} unless f32
   */
  abs(): Handle;

  /**
   * `y = acos(x)` in radians; NaN outside of [-1, 1]. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link acos}.
   * @throws {DTypeError} unless f32
   */
  acos(): Handle;

  /**
   * `y = log(x + sqrt(x^2 - 1))`; NaN below 1. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link acosh}.
   * @throws {DTypeError} unless f32
   */
  acosh(): Handle;

  /**
   * Sum with broadcasting: `y = a + b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link add}.
   * @throws {ShapeError | DTypeError}
   */
  add(b: Handle): Handle;

  /**
   * Whether every element of an axis is true; true for an empty one.
   * `x [...] bool -> y [...] bool` without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link all}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  all(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Whether an axis has a true element; false for an empty one.
   * `x [...] bool -> y [...] bool` without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link any}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  any(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Index of the largest value along an axis, the first of equals; a NaN counts as the largest (numpy's rule).
   * `x [...] f32 -> y [...] i32` without the axis. An axis that is empty only in a run gives 0.
   * `x` is this tensor. See {@link argmax}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  argmax(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Index of the smallest value along an axis, the first of equals; a NaN counts as the smallest (numpy's rule).
   * `x [...] f32 -> y [...] i32` without the axis. An axis that is empty only in a run gives 0.
   * `x` is this tensor. See {@link argmin}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  argmin(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Indices that sort along an axis; equal values keep their order, a NaN counts as the largest. `x [...] f32 -> y [...] i32`.
   * `x` is this tensor. See {@link argsort}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  argsort(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** True puts the largest value first. @defaultValue false */
    readonly descending?: boolean;
  }): Handle;

  /**
   * `y = asin(x)` in radians; NaN outside of [-1, 1]. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link asin}.
   * @throws {DTypeError} unless f32
   */
  asin(): Handle;

  /**
   * `y = log(x + sqrt(x^2 + 1))`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link asinh}.
   * @throws {DTypeError} unless f32
   */
  asinh(): Handle;

  /**
   * `y = atan(x)` in radians. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link atan}.
   * @throws {DTypeError} unless f32
   */
  atan(): Handle;

  /**
   * `y = log((1 + x) / (1 - x)) / 2`; infinite at 1 and -1, NaN outside. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link atanh}.
   * @throws {DTypeError} unless f32
   */
  atanh(): Handle;

  /**
   * Attention (Vaswani et al., 2017) over a paged cache (Kwon et al., 2023) that `kvWrite` filled. Query `t` of sequence `s = seqOf[t]` sees
   * the positions `j` in `[0, seqLens[s])` that are not after `positions[t]` (if causal) and are `> positions[t] - window` (if there is a
   * window); position `j` is in slot `blockTable[s, floor(j / blockSize)] * blockSize + j % blockSize`. Head `h` reads head
   * `floor(h * Hkv / H)` of the cache: `score = scale * q . k`, soft-capped, plus `slope(h) * (j - positions[t])` with ALiBi;
   * `y = sum(softmax(score) * v)`. `sinks[h]` is one more logit in the softmax, without a value. A query that sees nothing gives 0.
   *
   * `q [T, H, dK], cache [S, Hkv, dK + dV] f32 | f16 | q8_0, positions [T], seqOf [T], blockTable [nSeq, maxBlocks],
   * seqLens [nSeq] i32, sinks [H] -> y [T, H, dV]`. One sequence is the table `[[0]]` with `blockSize = S`.
   *
   * Indices outside the tables are an error on the scalar reference; other backends treat such positions as not seen.
   * `q` is this tensor. See {@link attention}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  attention(
    cache: Handle,
    positions: Handle,
    seqOf: Handle,
    blockTable: Handle,
    seqLens: Handle,
    params: {
      /** Multiplies `q . k`, usually `1 / sqrt(dK)`. */
      readonly scale: number;
      /** Positions per block of the block table. */
      readonly blockSize: number;
      /** A query sees no position after its own. @defaultValue true */
      readonly causal?: boolean;
      /** A query sees its own and the `window - 1` positions before; 0 means all. @defaultValue 0 */
      readonly window?: number;
      /** Scores become `softcap * tanh(score / softcap)`; 0 leaves the scores unchanged. @defaultValue 0 */
      readonly softcap?: number;
      /** Largest bias of ALiBi (ggml's `max_bias`); 0 means none. @defaultValue 0 */
      readonly alibi?: number;
      /** "half" permits a backend to round the operands of both products to f16, as for `matmul`. @defaultValue "f32" */
      readonly activations?: "f32" | "half";
      /** Optional tensor; the op describes it. */
      readonly sinks?: Handle;
    },
  ): Handle;

  /**
   * Mean of each window.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, `H' = floor((H + 2 padding - kernel) / stride) + 1`.
   * `x` is this tensor. See {@link avgPool2d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  avgPool2d(params: {
    /** Extents of a window. */
    readonly kernel: Pair;
    /** null: the kernel's size, so that windows do not overlap. @defaultValue null */
    readonly stride?: Pair | null;
    /** Added on each of the two sides; at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
    readonly padding?: Pair;
    /** Divide by the kernel's size everywhere, the zeros of the padding included, as PyTorch does unless told otherwise. @defaultValue true */
    readonly countPadding?: boolean;
  }): Handle;

  /**
   * Batch norm (Ioffe & Szegedy, 2015) with stored statistics, as at inference:
   * `y = (x - mean[c]) / sqrt(variance[c] + eps) * w[c] + bias[c]`.
   * `x [N, C, ...], mean [C], variance [C], w [C], bias [C] -> y [N, C, ...]`, f32.
   * `x` is this tensor. See {@link batchNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  batchNorm(
    mean: Handle,
    variance: Handle,
    w: Handle,
    bias: Handle,
    params: {
      /** Added to the variance. */
      readonly eps: number;
    },
  ): Handle;

  /**
   * The same values in another plain dtype. A float to an integer truncates toward zero and saturates, NaN becomes 0; integers to
   * integers keep the low bits; to bool it is `x != 0` (NaN is true), from bool 0 or 1. To f16 and bf16 it rounds to the nearest f32
   * first, then to the nearest of the type, ties to even. `x [...] -> y [...]`. Block types: `quantize`, `dequantize`.
   * `x` is this tensor. See {@link cast}.
   * @throws {DTypeError | ArgumentError}
   */
  cast(params: {
    /** The dtype of the result. */
    readonly dtype: ScalarType;
  }): Handle;

  /**
   * Smallest whole number from x. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link ceil}.
   * @throws {DTypeError} unless f32
   */
  ceil(): Handle;

  /**
   * `y = min(max(x, min), max)`; NaN stays NaN. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link clip}.
   * @throws {DTypeError | ArgumentError}
   */
  clip(params: {
    /** Lower bound. */
    readonly min: number;
    /** Upper bound, at least `min`. */
    readonly max: number;
  }): Handle;

  /**
   * Joins tensors along an axis. `tensors[i] [..., n_i, ...] -> y [..., n_0 + n_1 + ..., ...]`, one or more of one plain
   * dtype; the other extents are the same.
   * The first of `tensors` is this tensor. See {@link concat}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  concat(
    others: readonly Handle[],
    params: {
      /** The axis. A negative axis counts from the end. */
      readonly axis: number;
    },
  ): Handle;

  /**
   * Cross-correlation along one axis: `y[n, o, i] = sum(c, p) x[n, c, i * stride + p * dilation - padding] * w[o, c, p]`, outside of
   * `x` is 0. `x [N, C, L], w [O, C / groups, k] -> y [N, O, L']`, f32, `L' = floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1`.
   * `x` is this tensor. See {@link conv1d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  conv1d(
    w: Handle,
    params?: {
      /** Distance between windows. @defaultValue 1 */
      readonly stride?: number;
      /** Zeros added on each of the two sides. For different sides, e.g. a causal convolution, use `pad` first. @defaultValue 0 */
      readonly padding?: number;
      /** Distance between the elements of `x` that one window reads. @defaultValue 1 */
      readonly dilation?: number;
      /** Number of groups. Output channels of a group see only the input channels of the same group. @defaultValue 1 */
      readonly groups?: number;
    },
  ): Handle;

  /**
   * Cross-correlation, as deep-learning libraries call convolution:
   * `y[n, o, i, j] = sum(c, p, q) x[n, c, i * stride + p * dilation - padding, ...] * w[o, c, p, q]`, outside of `x` is 0.
   * `x [N, C, H, W], w [O, C / groups, kh, kw] -> y [N, O, H', W']`, f32, `H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1`.
   * `x` is this tensor. See {@link conv2d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
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
   * The magnitude of `a` with the sign of `b`, its sign bit: -0 counts as negative. With broadcasting, f32. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link copysign}.
   * @throws {ShapeError | DTypeError}
   */
  copysign(b: Handle): Handle;

  /**
   * `y = cos(x)`, x in radians. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link cos}.
   * @throws {DTypeError} unless f32
   */
  cos(): Handle;

  /**
   * `y = (exp(x) + exp(-x)) / 2`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link cosh}.
   * @throws {DTypeError} unless f32
   */
  cosh(): Handle;

  /**
   * Running product along an axis, the element itself included. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link cumprod}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  cumprod(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * Running sum along an axis, the element itself included. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link cumsum}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  cumsum(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * The values of a storage type: `x [...]` of a block type, f16 or bf16 `-> y [...]` f32, exact.
   * `x` is this tensor. See {@link dequantize}.
   * @throws {DTypeError}
   */
  dequantize(): Handle;

  /**
   * Quotient with broadcasting: `y = a / b`, f32; a zero divisor gives an infinity or NaN. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link div}.
   * @throws {ShapeError | DTypeError}
   */
  div(b: Handle): Handle;

  /**
   * Inner product: `y = sum(a * b)`. `a [n], b [n] -> y []`, f32.
   * `a` is this tensor. See {@link dot}.
   * @throws {ShapeError | DTypeError}
   */
  dot(b: Handle): Handle;

  /**
   * One element as a scalar that later ops take: `y = x.flat[index]`. `x [...] -> y []`, f32 or i32. It is a copy, so it keeps
   * its value when `x` is written later.
   * `x` is this tensor. See {@link element}.
   * @throws {DTypeError | ArgumentError}
   */
  element(params: {
    /** Row-major index of the element. */
    readonly index: number;
  }): Handle;

  /**
   * `y = x` from 0, `alpha * (exp(x) - 1)` below (Clevert et al., 2015); NaN stays NaN. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link elu}.
   * @throws {DTypeError | ArgumentError}
   */
  elu(params?: {
    /** Large negative values approach `-alpha`. @defaultValue 1 */
    readonly alpha?: number;
  }): Handle;

  /**
   * Rows of a table: `y[..., :] = table[ids[...], :]`. `table [V, d], ids [...] i32 -> y [..., d] f32`. The table is f32, f16,
   * bf16 or a block type. It also picks rows of activations.
   *
   * An id outside `[0, V)` is an error on the scalar reference; other backends write a row of zeros and never read outside the table.
   * `table` is this tensor. See {@link embedding}.
   * @throws {ShapeError | DTypeError} and, when the reference runs, {ArgumentError}
   */
  embedding(ids: Handle): Handle;

  /**
   * `y = a == b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * `a` is this tensor. See {@link equal}.
   * @throws {ShapeError | DTypeError}
   */
  equal(b: Handle): Handle;

  /**
   * `y = e^x`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link exp}.
   * @throws {DTypeError} unless f32
   */
  exp(): Handle;

  /**
   * Repeats `x` to a larger shape by the rule of broadcasting. `x [...] -> y [...shape]`, any plain dtype.
   * `x` is this tensor. See {@link expand}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  expand(params: {
    /** What `x` broadcasts to: its axes, aligned at the last, with extents of 1 stretched, and any new axes before them. */
    readonly shape: Shape;
  }): Handle;

  /**
   * Largest whole number up to x. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link floor}.
   * @throws {DTypeError} unless f32
   */
  floor(): Handle;

  /**
   * `y = a * b + c` with broadcasting, f32. Backends may round the product before they add.
   * `a [...], b [...], c [...] -> y [...]`.
   * `a` is this tensor. See {@link fma}.
   * @throws {ShapeError | DTypeError}
   */
  fma(b: Handle, c: Handle): Handle;

  /**
   * `y = x - floor(x)`, from 0 up to 1, as in shading languages; NaN for the infinities. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link fract}.
   * @throws {DTypeError} unless f32
   */
  fract(): Handle;

  /**
   * Picks along an axis: `y[..., i..., ...] = x[..., indices[i...], ...]` (numpy's `take`). `x [p..., n, q...], indices [i...] i32 ->
   * y [p..., i..., q...]`, any plain dtype; `embedding` picks rows of quantised tables.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * `x` is this tensor. See {@link gather}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  gather(
    indices: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
    },
  ): Handle;

  /**
   * `y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`: the tanh form of the Gaussian error linear unit
   * (Hendrycks & Gimpel, 2016). `x [...] -> y [...]`.
   * `x` is this tensor. See {@link gelu}.
   * @throws {DTypeError} unless f32
   */
  gelu(): Handle;

  /**
   * `y = 0.5 * x * (1 + erf(x / sqrt(2)))`: the exact form of the Gaussian error linear unit (Hendrycks & Gimpel, 2016); `gelu` is the
   * tanh form. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link geluErf}.
   * @throws {DTypeError} unless f32
   */
  geluErf(): Handle;

  /**
   * `y = a > b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * `a` is this tensor. See {@link greater}.
   * @throws {ShapeError | DTypeError}
   */
  greater(b: Handle): Handle;

  /**
   * `y = a >= b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * `a` is this tensor. See {@link greaterEqual}.
   * @throws {ShapeError | DTypeError}
   */
  greaterEqual(b: Handle): Handle;

  /**
   * Group norm (Wu & He, 2018): each group of channels of each item gets mean 0 and variance 1, then `y = ... * w[c] + bias[c]`. Population
   * variance in two passes. `x [N, C, ...], w [C], bias [C]? -> y [N, C, ...]`, f32.
   * `x` is this tensor. See {@link groupNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  groupNorm(
    w: Handle,
    params: {
      /** Number of groups of adjacent channels. 1 normalises over all C channels, C is an instance norm. */
      readonly groups: number;
      /** Added to the variance. */
      readonly eps: number;
      /** Optional tensor; the op describes it. */
      readonly bias?: Handle;
    },
  ): Handle;

  /**
   * `y = x * min(max(x + 3, 0), 6) / 6`; 0 up to -3, x from 3 (Howard et al., 2019). `x [...] -> y [...]`.
   * `x` is this tensor. See {@link hardswish}.
   * @throws {DTypeError} unless f32
   */
  hardswish(): Handle;

  /**
   * Layer norm over the last axis (Ba et al., 2016): `y = (x - mean(x)) / sqrt(variance(x) + eps) * w + bias`, with the population
   * variance, computed in two passes.
   * `x [..., n], w [n], bias [n]? -> y [..., n]`, f32.
   * `x` is this tensor. See {@link layerNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  layerNorm(
    w: Handle,
    params: {
      /** Added to the variance. */
      readonly eps: number;
      /** Optional tensor; the op describes it. */
      readonly bias?: Handle;
    },
  ): Handle;

  /**
   * `y = x` from 0, `slope * x` below; NaN stays NaN. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link leakyRelu}.
   * @throws {DTypeError | ArgumentError}
   */
  leakyRelu(params?: {
    /** Factor of negative values. @defaultValue 0.01 */
    readonly slope?: number;
  }): Handle;

  /**
   * Linear interpolation `y = a + t * (b - a)` with broadcasting, f32; `t` may be outside [0, 1].
   * `a [...], b [...], t [...] -> y [...]`.
   * `a` is this tensor. See {@link lerp}.
   * @throws {ShapeError | DTypeError}
   */
  lerp(b: Handle, t: Handle): Handle;

  /**
   * `y = a < b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * `a` is this tensor. See {@link less}.
   * @throws {ShapeError | DTypeError}
   */
  less(b: Handle): Handle;

  /**
   * `y = a <= b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * `a` is this tensor. See {@link lessEqual}.
   * @throws {ShapeError | DTypeError}
   */
  lessEqual(b: Handle): Handle;

  /**
   * `y = log(x)`: the natural logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link log}.
   * @throws {DTypeError} unless f32
   */
  log(): Handle;

  /**
   * `y = log10(x)`: the base-10 logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link log10}.
   * @throws {DTypeError} unless f32
   */
  log10(): Handle;

  /**
   * `y = log2(x)`: the base-2 logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link log2}.
   * @throws {DTypeError} unless f32
   */
  log2(): Handle;

  /**
   * `y = x - max(x) - log(sum(exp(x - max(x))))` along an axis. `x [...] -> y [...]`, f32. A row of nothing but -Infinity
   * gives NaN, as in PyTorch.
   * `x` is this tensor. See {@link logSoftmax}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  logSoftmax(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * `y = a && b` with broadcasting. `a [...], b [...] -> y [...]`, all bool.
   * `a` is this tensor. See {@link logicalAnd}.
   * @throws {ShapeError | DTypeError}
   */
  logicalAnd(b: Handle): Handle;

  /**
   * `y = !x`. `x [...] bool -> y [...] bool`.
   * `x` is this tensor. See {@link logicalNot}.
   * @throws {DTypeError} unless bool
   */
  logicalNot(): Handle;

  /**
   * `y = a || b` with broadcasting. `a [...], b [...] -> y [...]`, all bool.
   * `a` is this tensor. See {@link logicalOr}.
   * @throws {ShapeError | DTypeError}
   */
  logicalOr(b: Handle): Handle;

  /**
   * `y = a != b` with broadcasting. `a [...], b [...] -> y [...]`, all bool.
   * `a` is this tensor. See {@link logicalXor}.
   * @throws {ShapeError | DTypeError}
   */
  logicalXor(b: Handle): Handle;

  /**
   * Matrix product with broadcast batch axes: `a [..., m, k] x b [..., k, n] -> y [..., m, n]`, f32.
   * `a` is f32; `b` is f32, f16, bf16 or a block type (then `transposeB`, blocks along k).
   * `a` is this tensor. See {@link matmul}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  matmul(
    b: Handle,
    params?: {
      /** `a` is stored as `[..., k, m]`. @defaultValue false */
      readonly transposeA?: boolean;
      /** `b` is stored as `[..., n, k]`: how GGUF stores weights. Quantised `b` must be stored so. @defaultValue false */
      readonly transposeB?: boolean;
      /**
       * Precision of the operands. Sums are f32 in every mode.
       *
       * - "f32" multiplies exact activations with the dequantised weights.
       * - "half" permits a backend to round both operands to f16, with rows scaled by a power of two where they would overflow, or to bf16
       *   for bf16 weights, as tensor cores do. A result differs from the exact one by at most `2^-10` (bf16: `2^-7`) times the sum of the
       *   products' magnitudes. A backend may also compute exactly, as the reference does.
       * - "ggml" first rounds each row of `a` as ggml's CPU code does: for a quantised `b` to the 8-bit blocks that it pairs with that type,
       *   which changes results by about 1e-2 relative, and for f16 and bf16 to the type of `b`. With f32 it is "f32".
       * @defaultValue "f32"
       */
      readonly activations?: Activations;
    },
  ): Handle;

  /**
   * Largest value over an axis; NaN if any element is NaN. An axis that is empty only in a run gives -Infinity.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link max}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  max(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Largest value of each window; padding never counts, NaN does.
   * `x [N, C, H, W] -> y [N, C, H', W']`, f32, `H' = floor((H + 2 padding - kernel) / stride) + 1`.
   * `x` is this tensor. See {@link maxPool2d}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  maxPool2d(params: {
    /** Extents of a window. */
    readonly kernel: Pair;
    /** null: the kernel's size, so that windows do not overlap. @defaultValue null */
    readonly stride?: Pair | null;
    /** Added on each of the two sides; at most half the kernel, so that no window is all padding. @defaultValue [0,0] */
    readonly padding?: Pair;
  }): Handle;

  /**
   * The larger of two with broadcasting, f32 or i32; NaN if either is. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link maximum}.
   * @throws {ShapeError | DTypeError}
   */
  maximum(b: Handle): Handle;

  /**
   * Mean over an axis: `sum(x) / n`. An axis that is empty only in a run gives NaN.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link mean}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  mean(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Smallest value over an axis; NaN if any element is NaN. An axis that is empty only in a run gives Infinity.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link min}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  min(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * The smaller of two with broadcasting, f32 or i32; NaN if either is. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link minimum}.
   * @throws {ShapeError | DTypeError}
   */
  minimum(b: Handle): Handle;

  /**
   * `y = x * tanh(log(1 + exp(x)))` (Misra, 2019). `x [...] -> y [...]`.
   * `x` is this tensor. See {@link mish}.
   * @throws {DTypeError} unless f32
   */
  mish(): Handle;

  /**
   * Products of tokens with their chosen experts: `y[t, i] = experts[ids[t, i]] · x[t, i]`, f32.
   * `x [T, K]` (one vector for all experts of a token) or `[T, k, K]` (one for each), `experts [E, N, K]` f32, f16, bf16 or a block type,
   * `ids [T, k] i32 -> y [T, k, N]`.
   *
   * An id outside `[0, E)` is an error on the scalar reference; other backends give zeros.
   * `x` is this tensor. See {@link moeMatmul}.
   * @throws {ShapeError | DTypeError | ArgumentError} and, when the reference runs, {ArgumentError}
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
   * Chooses experts: the `k` with the largest scores, best first, the lower index first among equals. `logits [T, E]`, optional
   * `bias [E] -> ids [T, k] i32`. The score of an expert is its gate (see `moeWeights`) plus the bias, which takes no part in the weights
   * (DeepSeek-AI, 2024, "DeepSeek-V3", section 2.1.2). A NaN counts as the smallest score.
   * `logits` is this tensor. See {@link moeRoute}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  moeRoute(params: {
    /** Experts for each token. */
    readonly k: number;
    /** What scores are made of logits before the bias is added. @defaultValue "softmax" */
    readonly gating?: Gating;
    /** Groups of equal size that the experts are in, of which a token uses only some. 1: no groups. @defaultValue 1 */
    readonly groups?: number;
    /** Groups that a token uses: those with the largest sums of their two best scores. @defaultValue 1 */
    readonly topKGroups?: number;
    /** Optional tensor; the op describes it. */
    readonly bias?: Handle;
  }): Handle;

  /**
   * Weights of chosen experts: `y[t, i]` is the gate of expert `ids[t, i]`. `logits [T, E], ids [T, k] i32 -> y [T, k]`, f32.
   *
   * An id outside `[0, E)` is an error on the scalar reference; elsewhere its weight is not defined.
   * `logits` is this tensor. See {@link moeWeights}.
   * @throws {ShapeError | DTypeError | ArgumentError} and, when the reference runs, {ArgumentError}
   */
  moeWeights(
    ids: Handle,
    params?: {
      /** See {@link Gating}: the same as of `moeRoute`. @defaultValue "softmax" */
      readonly gating?: Gating;
      /** Whether the weights of a token are divided by their sum, of which 2^-14 is the least (ggml's guard against division by zero). @defaultValue false */
      readonly normalize?: boolean;
      /** Multiplies the weights in the last step. @defaultValue 1 */
      readonly scale?: number;
    },
  ): Handle;

  /**
   * Product with broadcasting: `y = a * b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link mul}.
   * @throws {ShapeError | DTypeError}
   */
  mul(b: Handle): Handle;

  /**
   * `y = -x`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link neg}.
   * @throws {DTypeError} unless f32
   */
  neg(): Handle;

  /**
   * L1 norm over an axis: `sum(|x|)`; 0 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link normL1}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  normL1(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * L2 norm over an axis: `sqrt(sum(x^2))`; 0 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link normL2}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  normL2(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Maximum norm over an axis: `max(|x|)`; NaN if any element is NaN, 0 for an empty axis.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link normLinf}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  normLinf(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * `y = a != b`; true where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool.
   * `a` is this tensor. See {@link notEqual}.
   * @throws {ShapeError | DTypeError}
   */
  notEqual(b: Handle): Handle;

  /**
   * Puts a constant around a tensor. `x [n, ...] -> y [before + n + after, ...]`, any plain dtype.
   * `x` is this tensor. See {@link pad}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  pad(params: {
    /** One pair per axis: how many elements to add before and after it. */
    readonly pads: readonly (readonly [before: number, after: number])[];
    /** The constant, a value that the dtype of `x` can represent. @defaultValue 0 */
    readonly value?: number;
  }): Handle;

  /**
   * `y = x^exponent`, with a constant exponent; `power` takes a tensor of exponents. IEEE 754's rules.
   * `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link pow}.
   * @throws {DTypeError | ArgumentError}
   */
  pow(params: {
    /** The exponent. It may be infinite. */
    readonly exponent: number;
  }): Handle;

  /**
   * `y = a^b` with broadcasting, f32, as IEEE 754 defines it: NaN for a negative base with an exponent that is no whole number,
   * 1 for `a = 1` or `b = 0` whatever the other is. `pow` has a fixed exponent. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link power}.
   * @throws {ShapeError | DTypeError}
   */
  power(b: Handle): Handle;

  /**
   * Product over an axis; 1 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link prod}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  prod(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Rounds to blocks along the last axis, bit for bit as ggml does. `x [..., n] f32 -> y [..., n]` of a block type, n a multiple of its
   * block. Values must be finite: the scalar reference throws, elsewhere a block with one that is not has NaN as its scale. The other block
   * types are read (`dequantize`), not made; `cast` makes f16 and bf16.
   * `x` is this tensor. See {@link quantize}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  quantize(params?: {
    /** The block type. @defaultValue "q8_0" */
    readonly dtype?: QuantizedType;
  }): Handle;

  /**
   * `y = 1 / x`; an infinity at 0. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link reciprocal}.
   * @throws {DTypeError} unless f32
   */
  reciprocal(): Handle;

  /**
   * `y = max(x, 0)`; NaN stays NaN. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link relu}.
   * @throws {DTypeError} unless f32
   */
  relu(): Handle;

  /**
   * The same elements in row-major order, with another shape; nothing is computed. `x [...] -> y [...shape]`, any plain dtype.
   * `x` is this tensor. See {@link reshape}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  reshape(params: {
    /** Symbolic dims of `x` must all appear; the product of the other extents must stay. */
    readonly shape: Shape;
  }): Handle;

  /**
   * Root-mean-square norm over the last axis (Zhang & Sennrich, 2019): `y = x / sqrt(mean(x^2) + eps) * w`.
   * `x [..., n], w [n] -> y [..., n]`, f32.
   * `x` is this tensor. See {@link rmsNorm}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  rmsNorm(
    w: Handle,
    params: {
      /** Added to the mean of squares. */
      readonly eps: number;
    },
  ): Handle;

  /**
   * Rotary position embedding (Su et al., 2021): rotates pair `i` of head vectors by
   * `angle(t, i) = positions[t] * scale * base^(-2i / dims) / freqFactors[i]`, `(p, q) -> (p cos - q sin, p sin + q cos)`.
   * `x [T, H, D], positions [T] i32, freqFactors [dims / 2] -> y [T, H, D]`, f32. Elements from `dims` on are copied; without
   * `freqFactors` they are 1.
   * `x` is this tensor. See {@link rope}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  rope(
    positions: Handle,
    params: {
      /** How many leading elements of each head are rotated, an even number; 0 means all. @defaultValue 0 */
      readonly dims?: number;
      /** Base of the geometric series of frequencies. @defaultValue 10000 */
      readonly base?: number;
      /** Elements that form a pair, in the names of llama.cpp: (2i, 2i + 1) for "norm", (i, i + dims / 2) for "neox". */
      readonly ropeType: "norm" | "neox";
      /** Multiplies the position: linear context scaling by 2 is 0.5. @defaultValue 1 */
      readonly scale?: number;
      /** Optional tensor; the op describes it. */
      readonly freqFactors?: Handle;
    },
  ): Handle;

  /**
   * Nearest whole number, halves to the even one, as numpy and IEEE 754 do. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link round}.
   * @throws {DTypeError} unless f32
   */
  round(): Handle;

  /**
   * `y = 1 / sqrt(x)`; Infinity at 0, NaN below. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link rsqrt}.
   * @throws {DTypeError} unless f32
   */
  rsqrt(): Handle;

  /**
   * Chooses an index of each row by its probability, `softmax` of the row over `temperature`, after top-k, top-p and min-p in this
   * order (llama.cpp's): the first candidate at which the running sum of probabilities exceeds the random number. Candidates are
   * in order of descending logits (equal ones by index) if top-k or top-p sorts them, else by index. The random number is
   * {@link uniformAt} of the seed and the row's position, so that any step can be repeated alone.
   * `logits [..., n] f32, position [...] i32 -> y [...] i32`. Logits at -Infinity are never chosen; NaN, +Infinity or a row without a
   * finite logit is an error on the scalar reference, and gives -1 on the others.
   * `logits` is this tensor. See {@link sample}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sample(
    position: Handle,
    params: {
      /** A whole number from 0; the same seed, position and logits give the same choice everywhere. */
      readonly seed: number;
      /** Divides the logits; 0 always takes the greatest. @defaultValue 1 */
      readonly temperature?: number;
      /** Keeps the k greatest logits; 0 keeps all. @defaultValue 0 */
      readonly topK?: number;
      /** Keeps the most likely candidates whose probabilities add up to p, at least one; 1 keeps all. @defaultValue 1 */
      readonly topP?: number;
      /** Keeps candidates that are at least p times as likely as the most likely one; 0 keeps all. @defaultValue 0 */
      readonly minP?: number;
    },
  ): Handle;

  /**
   * `y = x * by`, with a constant factor. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link scale}.
   * @throws {DTypeError | ArgumentError}
   */
  scale(params: {
    /** The factor, a finite number. */
    readonly by: number;
  }): Handle;

  /**
   * A copy of `x` with slices along an axis written: `y[..., indices[i], ...] = updates[..., i, ...]`, or `+=`. The inverse of `gather`.
   * `x [p..., n, q...], indices [m] i32, updates [p..., m, q...] -> y [p..., n, q...]`, any plain dtype.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * `x` is this tensor. See {@link scatter}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  scatter(
    indices: Handle,
    updates: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
      /** "replace": the last of equal indices wins. "add": all are added to the element of `x` (f32 or wrapping i32). @defaultValue "replace" */
      readonly mode?: "replace" | "add";
    },
  ): Handle;

  /**
   * `y = lambda * x` above 0, `lambda * alpha * (exp(x) - 1)` below: the self-normalising unit (Klambauer et al., 2017). `x [...] -> y [...]`.
   * `x` is this tensor. See {@link selu}.
   * @throws {DTypeError} unless f32
   */
  selu(): Handle;

  /**
   * `y = 1 / (1 + exp(-x))`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link sigmoid}.
   * @throws {DTypeError} unless f32
   */
  sigmoid(): Handle;

  /**
   * `y = 1` above 0, `-1` below, `0` at 0; NaN stays NaN. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link sign}.
   * @throws {DTypeError} unless f32
   */
  sign(): Handle;

  /**
   * `y = x / (1 + exp(-x))`, also called swish (Ramachandran et al., 2017). `x [...] -> y [...]`.
   * `x` is this tensor. See {@link silu}.
   * @throws {DTypeError} unless f32
   */
  silu(): Handle;

  /**
   * `y = sin(x)`, x in radians. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link sin}.
   * @throws {DTypeError} unless f32
   */
  sin(): Handle;

  /**
   * `y = (exp(x) - exp(-x)) / 2`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link sinh}.
   * @throws {DTypeError} unless f32
   */
  sinh(): Handle;

  /**
   * Part of an axis: `y[..., i, ...] = x[..., start + i * step, ...]`, for indices below `end`. Bounds outside of the axis are errors,
   * not clipped. A symbolic axis can only be taken whole; a symbolic `end` needs `start: 0` and `step: 1`.
   * `x [..., n, ...] -> y [..., ceil((end - start) / step), ...]`, any plain dtype. Several slices split a tensor.
   * `x` is this tensor. See {@link slice}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  slice(params: {
    /** The axis. A negative axis counts from the end. */
    readonly axis: number;
    /** First index. A negative index counts from the end. @defaultValue 0 */
    readonly start?: number;
    /**
     * Index after the last one. A negative index counts from the end; null takes the rest. A symbolic dim takes as many elements as
     * it has in a run.
     * @defaultValue null
     */
    readonly end?: Dim | null;
    /** Distance between the indices that are taken, from 1. @defaultValue 1 */
    readonly step?: number;
  }): Handle;

  /**
   * `y = exp(x - max(x)) / sum(exp(x - max(x)))` along an axis. `x [...] -> y [...]`, f32. A row of nothing but -Infinity
   * gives NaN, as in PyTorch.
   * `x` is this tensor. See {@link softmax}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  softmax(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
  }): Handle;

  /**
   * `y = log(1 + exp(x))`, without overflow. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link softplus}.
   * @throws {DTypeError} unless f32
   */
  softplus(): Handle;

  /**
   * Values in ascending or descending order along an axis; a NaN counts as the largest. `x [...] -> y [...]`, f32.
   * `x` is this tensor. See {@link sort}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sort(params?: {
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** True puts the largest value first. @defaultValue false */
    readonly descending?: boolean;
  }): Handle;

  /**
   * `y = sqrt(x)`; NaN below 0. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link sqrt}.
   * @throws {DTypeError} unless f32
   */
  sqrt(): Handle;

  /**
   * Causal convolution of each channel with a filter of its own over the latest K tokens of a sequence (Gu & Dao, 2023, "Mamba",
   * section 3.4; with K = 3 the short convolution of LFM2): `y[t, c] = Σ_j filter[c, j] · x[t - K + 1 + j, c]`.
   * `x [T, C], filter [C, K], state [S, K - 1, C], positions [T] i32, rows [T] i32 -> y [T, C]`, f32.
   *
   * Tokens before those of the call are in row `rows[t]` of the state, oldest first, where `ssmConvWrite` put them; those before position 0
   * count as 0, so a state needs no reset. The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; elsewhere results of its tokens are not defined.
   * `x` is this tensor. See {@link ssmConv}.
   * @throws {ShapeError | DTypeError} and, when the reference runs, {ArgumentError}
   */
  ssmConv(filter: Handle, state: Handle, positions: Handle, rows: Handle): Handle;

  /**
   * Selective state spaces (Gu & Dao, 2023, "Mamba", algorithm 2; heads and groups as in Dao & Gu, 2024, "Mamba-2"). For each head h with
   * channels p, in group g = h · G / H, the state s of N elements goes from token to token:
   * `s[h, p, n] = exp(dt[t, h] · a[h, n]) · s[h, p, n] + dt[t, h] · b[t, g, n] · x[t, h, p]` and `y[t, h, p] = Σ_n c[t, g, n] · s[h, p, n]`.
   * `x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], c [T, G, N], state [S, H, P, N], positions [T] i32, rows [T] i32 -> y [T, H, P]`,
   * f32. (Mamba: P = 1, G = 1.)
   *
   * A sequence goes on from row `rows[t]` of the state, where `ssmScanWrite` left it, and from 0 at position 0, so a state needs no reset.
   * The tokens of a sequence must be adjacent and in order of position.
   *
   * A row outside `[0, S)` is an error on the scalar reference; elsewhere results of its tokens are not defined.
   * `x` is this tensor. See {@link ssmScan}.
   * @throws {ShapeError | DTypeError} and, when the reference runs, {ArgumentError}
   */
  ssmScan(dt: Handle, a: Handle, b: Handle, c: Handle, state: Handle, positions: Handle, rows: Handle): Handle;

  /**
   * Tensors along a new axis, whose extent is their number. `n tensors [...] -> y [..., n, ...]`, of one shape and plain dtype.
   * The first of `tensors` is this tensor. See {@link stack}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  stack(
    others: readonly Handle[],
    params?: {
      /** Index of the new axis in the result. A negative axis counts from the end. @defaultValue 0 */
      readonly axis?: number;
    },
  ): Handle;

  /**
   * Difference with broadcasting: `y = a - b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`.
   * `a` is this tensor. See {@link sub}.
   * @throws {ShapeError | DTypeError}
   */
  sub(b: Handle): Handle;

  /**
   * Sum over an axis; 0 for an empty one.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link sum}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sum(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Sum over an axis with compensation (Kahan, 1965, as improved by Neumaier, 1974): as good as a sum in twice the precision, so that
   * large terms of opposite signs leave the small ones between them. 0 for an empty axis; `sum` is faster.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link sumKahan}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  sumKahan(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
  }): Handle;

  /**
   * Picks along an axis, for each line by indices of its own: `y[o, i, k] = x[o, indices[o, i, k], k]` (numpy's `take_along_axis`), which
   * takes what `argsort`, `argmax` or `topKIndices` gave. `x [p..., n, q...], indices [p..., m, q...] i32 -> y [p..., m, q...]`, any plain
   * dtype; `gather` picks whole slices.
   *
   * An index outside `[0, n)` is an error on the scalar reference.
   * `x` is this tensor. See {@link takeAlongAxis}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  takeAlongAxis(
    indices: Handle,
    params?: {
      /** The axis. A negative axis counts from the end. @defaultValue -1 */
      readonly axis?: number;
    },
  ): Handle;

  /**
   * `y = tan(x)`, x in radians. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link tan}.
   * @throws {DTypeError} unless f32
   */
  tan(): Handle;

  /**
   * `y = tanh(x)`. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link tanh}.
   * @throws {DTypeError} unless f32
   */
  tanh(): Handle;

  /**
   * The k largest (or smallest) values along an axis, in order; a NaN counts as the largest. `topKIndices` returns their indices.
   * `x [..., n, ...] -> y [..., k, ...]`, f32.
   * `x` is this tensor. See {@link topK}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  topK(params: {
    /** How many values to take. */
    readonly k: number;
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** True takes the largest values, largest first; false the smallest, smallest first. @defaultValue true */
    readonly largest?: boolean;
  }): Handle;

  /**
   * Where along an axis the k largest (or smallest) values are, in the order of `topK`; of equal values the first come first.
   * `x [..., n, ...] f32 -> y [..., k, ...] i32`.
   * `x` is this tensor. See {@link topKIndices}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  topKIndices(params: {
    /** How many values to take. */
    readonly k: number;
    /** The axis. A negative axis counts from the end. @defaultValue -1 */
    readonly axis?: number;
    /** True takes the largest values, largest first; false the smallest, smallest first. @defaultValue true */
    readonly largest?: boolean;
  }): Handle;

  /**
   * Permutes the axes: a matrix transpose, or any other order. `x [...] -> y [...]`, any plain dtype.
   * `x` is this tensor. See {@link transpose}.
   * @throws {DTypeError | ArgumentError}
   */
  transpose(params?: {
    /** Axis i of the result is axis `axes[i]` of the input. A negative axis counts from the end; null reverses all axes. @defaultValue null */
    readonly axes?: readonly number[] | null;
  }): Handle;

  /**
   * The whole part: toward zero. `x [...] -> y [...]`.
   * `x` is this tensor. See {@link trunc}.
   * @throws {DTypeError} unless f32
   */
  trunc(): Handle;

  /**
   * Variance over an axis, `sum((x - mean(x))^2) / (n - correction)`, in two passes: values of one size with a large mean keep their
   * digits. An axis that a run makes empty, or as short as `correction`, gives NaN.
   * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
   * `x` is this tensor. See {@link variance}.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  variance(params?: {
    /** The axis to reduce. A negative axis counts from the end; null reduces all axes. @defaultValue null */
    readonly axis?: number | null;
    /** Keep reduced axes with extent 1. @defaultValue false */
    readonly keepDims?: boolean;
    /** Subtracted from the count that the sum is divided by: 0 for the population's variance, 1 for a sample's. @defaultValue 0 */
    readonly correction?: number;
  }): Handle;

  /**
   * `y = condition ? a : b` element by element, with broadcasting. `condition [...] bool, a [...], b [...] -> y [...]`; `a` and `b`
   * of one plain dtype.
   * `condition` is this tensor. See {@link where}.
   * @throws {ShapeError | DTypeError}
   */
  where(a: Handle, b: Handle): Handle;
}
