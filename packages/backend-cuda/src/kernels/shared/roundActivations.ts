import { type Extent, type F32, isBelow, offset, product, times, type U32, unflatten, type Values } from "@centella/gpu-kernels";
import { activationType, type BlockType } from "@centella/quant";
import type { PtxBuilder } from "../../ptx/builder.ts";
import { warpReduce } from "../../ptx/reduce.ts";
import { type Argument, bucketElements, type KernelCall, type Launch, launch } from "./kernel.ts";

const threads = 128;
const lanes = 32;

/**
 * Rounds each row of activations to the 8-bit blocks that ggml pairs with `weightType`, as `roundActivations` of the quant
 * package does bit for bit, and writes them as f32 `[..., m, k]`, whether `a` is transposed or not. One warp per block.
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
    const { k } = scope;
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
        return offset(k, [outer, column, row], [times(k, rows, columns), rows, 1]);
      };
      const indices = Array.from({ length: perBlock / lanes }, (_, i) => k.add(k.add(first, lane), i * lanes));
      const values = indices.map((index) => k.load("a", at(index)));
      const { inverse, step } = type === "q8_K" ? signedScale(k, values, indices) : symmetricScale(k, values);
      values.forEach((value, i) => {
        let q = k.round(k.mul(value, inverse));
        if (type === "q8_K") q = k.min(q, 127);
        k.store("rounded", indices[i]!, k.mul(q, step));
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
  const [largest] = warpReduce<readonly ["f32"]>(k, [own], ([a], [b]) => [k.max(a, b)]);
  const zero = k.compare("eq", largest, 0);
  return {
    inverse: k.select(zero, k.constant("f32", 0), k.div(k.constant("f32", 127), largest)),
    step: k.halfToFloat(k.floatToHalf(k.div(largest, k.constant("f32", 127)))),
  };
}

/** q8_K: with `m` the first of the values of largest magnitude, `inverse = -127 / m`, `step = 1 / inverse`. */
function signedScale(k: PtxBuilder, values: readonly F32[], indices: readonly U32[]): Scales {
  type Located = Values<readonly ["f32", "u32"]>;
  const better = (a: Located, b: Located): Located => {
    const [p, q] = [k.abs(a[0]), k.abs(b[0])];
    const take = k.or(k.compare("gt", q, p), k.and(k.compare("eq", q, p), k.compare("lt", b[1], a[1])));
    return [k.select(take, b[0], a[0]), k.select(take, b[1], a[1])];
  };
  const best = values.map((each, i): Located => [each, indices[i]!]).reduce(better);
  const [value] = warpReduce<readonly ["f32", "u32"]>(k, best, better);
  const zero = k.compare("eq", value, 0);
  const inverse = k.div(k.constant("f32", -127), value);
  return {
    inverse: k.select(zero, k.constant("f32", 0), inverse),
    step: k.select(zero, k.constant("f32", 0), k.div(k.constant("f32", 1), inverse)),
  };
}
