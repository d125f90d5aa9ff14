import { isBelow, offset, product, times, unflatten } from "@centella/gpu-kernels";
import { activationType, type BlockType } from "@centella/quant";
import type { PtxBuilder } from "../../ptx/builder.ts";
import { warpReduce } from "../../ptx/reduce.ts";
import type { Extent, F32, U32 } from "../../ptx/types.ts";
import { type Argument, bucketElements, type KernelCall, type Launch, launch } from "./kernel.ts";

const threads = 128;
const lanes = 32;

/**
 * Rounds each row of activations to the 8-bit blocks that ggml pairs with `weightType`, as `roundActivations` of the quant
 * package does bit for bit, and writes them as f32 `[..., m, k]`, whichever way `a` lies. One warp per block.
 */
export function roundActivationsLaunch(
  call: KernelCall,
  weightType: BlockType,
  { a, rounded, transposed }: { readonly a: Argument; readonly rounded: Argument; readonly transposed: boolean },
): Launch {
  const type = activationType[weightType];
  const perBlock = type === "q8_K" ? 256 : 32;
  const { shape } = call.inputs[0]!;
  const [rowDim, columnDim] = transposed ? [shape.at(-1)!, shape.at(-2)!] : [shape.at(-2)!, shape.at(-1)!];
  const batch = shape.slice(0, -2);
  const groups = bucketElements(call, shape) / perBlock;
  const blocks = Math.ceil(groups / (threads / lanes));
  return launch(call, `round_${type}${transposed ? "_t" : ""}`, { threads, blocks, args: { a, rounded } }, (scope) => {
    const { k, pointer } = scope;
    const thread = k.thread();
    const lane = k.and(thread, lanes - 1);
    const group = k.mad(k.block(), threads / lanes, k.shiftRight(thread, 5));
    const [rows, columns] = [scope.extent(rowDim), scope.extent(columnDim)];
    const elements = times(k, times(k, product(k, scope.extents(batch)), rows), columns);
    const first = k.mul(group, perBlock);
    // The same in all lanes of a warp: its shuffles stay whole.
    k.if(isBelow(k, first, elements), () => {
      const at = (index: U32): Extent => {
        if (!transposed) return index;
        const [outer, row, column] = unflatten(k, index, [1, rows, columns]);
        return offset(k, [outer!, column!, row!], [times(k, rows, columns), rows, 1]);
      };
      const indices = Array.from({ length: perBlock / lanes }, (_, i) => k.add(k.add(first, lane), i * lanes));
      const values = indices.map((index) => k.load("f32", k.at("f32", pointer("a", "f32"), at(index))));
      const { inverse, step } = type === "q8_K" ? signedScale(k, values, indices) : symmetricScale(k, values);
      values.forEach((value, i) => {
        let q = k.round(k.mul(value, inverse));
        if (type === "q8_K") q = k.min(q, 127);
        k.store("f32", k.at("f32", pointer("rounded", "f32"), indices[i]!), k.mul(q, step));
      });
    });
  });
}

interface Scales {
  /** Multiplies values before they are rounded to whole numbers. */
  readonly inverse: F32;
  /** Multiplies the whole numbers. */
  readonly step: F32;
}

/** q8_0 and q8_1: `step = f16(max|x| / 127)`, `inverse = 127 / max|x|`. */
function symmetricScale(k: PtxBuilder, values: readonly F32[]): Scales {
  const magnitudes = values.map((value) => k.abs(value));
  const own = magnitudes.reduce((a, b) => k.max(a, b));
  const largest = warpReduce(k, own, (a, b) => k.max(a, b));
  const zero = k.compare("eq", largest, 0);
  return {
    inverse: k.select(zero, k.constant("f32", 0), k.div(k.constant("f32", 127), largest)),
    step: k.halfToFloat(k.floatToHalf(k.div(largest, k.constant("f32", 127)))),
  };
}

/** q8_K: with `m` the first of the values of largest magnitude, `inverse = -127 / m`, `step = 1 / inverse`. */
function signedScale(k: PtxBuilder, values: readonly F32[], indices: readonly U32[]): Scales {
  let best = { value: values[0]!, index: indices[0]! };
  const better = (a: typeof best, b: typeof best): typeof best => {
    const [p, q] = [k.abs(a.value), k.abs(b.value)];
    const take = k.or(k.compare("gt", q, p), k.and(k.compare("eq", q, p), k.compare("lt", b.index, a.index)));
    return { value: k.select(take, b.value, a.value), index: k.select(take, b.index, a.index) };
  };
  values.slice(1).forEach((value, i) => {
    best = better(best, { value, index: indices[i + 1]! });
  });
  for (let mask = lanes / 2; mask > 0; mask >>= 1) {
    best = better(best, { value: k.shuffleXor(best.value, mask), index: k.shuffleXor(best.index, mask) });
  }
  const zero = k.compare("eq", best.value, 0);
  const inverse = k.div(k.constant("f32", -127), best.value);
  return {
    inverse: k.select(zero, k.constant("f32", 0), inverse),
    step: k.select(zero, k.constant("f32", 0), k.div(k.constant("f32", 1), inverse)),
  };
}
