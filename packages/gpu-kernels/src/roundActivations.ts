import type { TensorSpec } from "@centella/core";
import type { ActivationType } from "@centella/quant";
import { isHalf } from "@centella/quant";
import type { Emitter, F32, U32, Values } from "./emitter.ts";
import { asValue, type Extent, offset, times, timesPlus, unflatten } from "./extent.ts";
import type { GpuArgument, GpuScope, GpuStep } from "./kernel.ts";
import { roundedTo } from "./shared/dtypes.ts";

/** What activations are rounded to: 8-bit blocks, or the type of 16-bit weights. */
export type RoundedType = ActivationType | "f16" | "bf16";

/** Lanes that share a block of activations. */
const lanes = 32;

/** Elements of a block. */
const blockElements: Readonly<Record<ActivationType, number>> = { q8_0: 32, q8_1: 32, q8_K: 256 };

/** What a step that rounds reads, and where it stores the result. */
interface RoundingArguments {
  readonly [name: string]: GpuArgument;
  readonly a: GpuArgument;
  readonly y: GpuArgument;
}

/**
 * Rounds each row of `a [..., m, k]`, or `[..., k, m]` if `transposed`, to the type that ggml pairs with a weight's type, bit for bit as
 * `roundActivations` of `@centella/quant` does. Writes them to `y [..., m, k]` as f32.
 */
export function roundActivationsStep(a: TensorSpec, type: RoundedType, transposed: boolean, args: RoundingArguments): GpuStep {
  return isHalf(type) ? round16Step(a, type, transposed, args) : roundBlocksStep(a, type, transposed, args);
}

function round16Step(a: TensorSpec, type: "f16" | "bf16", transposed: boolean, args: RoundingArguments): GpuStep {
  const [first = 1, last = 1] = a.shape.slice(-2);
  const shape = transposed ? [...a.shape.slice(0, -2), last, first] : a.shape;
  return {
    kind: "map",
    name: `${type}${transposed ? "_t" : ""}`,
    args,
    shape,
    to: "y",
    body(scope, index) {
      const { k } = scope;
      const [rows, columns] = [scope.extent(last), scope.extent(first)];
      return roundedTo(k, type, k.load("a", transposed ? transposedAt(k, index, rows, columns) : index));
    },
  };
}

/** The place in `[..., columns, rows]` of element `index` of `[..., rows, columns]`. */
function transposedAt(k: Emitter, index: U32, rows: Extent, columns: Extent): Extent {
  const [outer, row, column] = unflatten(k, index, [1, rows, columns]);
  return offset(k, [outer, column, row], [times(k, rows, columns), rows, 1]);
}

function roundBlocksStep(a: TensorSpec, type: ActivationType, transposed: boolean, args: RoundingArguments): GpuStep {
  const perBlock = blockElements[type];
  const [first = 1, last = perBlock] = a.shape.slice(-2);
  const [m, depth] = transposed ? [last, first] : [first, last];
  // The depth equals that of the weight: a whole number of blocks.
  const blocks = (typeof depth === "number" ? depth : depth.max) / perBlock;
  return {
    kind: "groups",
    name: `${type}${transposed ? "_t" : ""}`,
    args,
    lanes,
    shape: [...a.shape.slice(0, -2), m, blocks],
    body(scope, block) {
      const { k } = scope;
      const rows = scope.extent(m);
      const columns = times(k, scope.whole(blocks), perBlock);
      const start = k.mul(block, perBlock);
      const at = (element: U32): Extent => (transposed ? transposedAt(k, element, rows, columns) : element);
      roundBlock(scope, type, (i) => asValue(k, timesPlus(k, i, lanes, k.add(start, k.lane()))), at);
    },
  };
}

/** Rounds a block. `elementAt(i)` is the index in `y` of the lane's i-th element, `sourceAt` the index of an element in `a`. */
function roundBlock({ k }: GpuScope, type: ActivationType, elementAt: (i: number) => U32, sourceAt: (element: U32) => Extent): void {
  const elements = Array.from({ length: blockElements[type] / lanes }, (_, i) => elementAt(i));
  const values = elements.map((element) => ({ element, value: k.load("a", sourceAt(element)) }));
  const { inverse, step } = type === "q8_K" ? signedScale(k, values) : symmetricScale(k, values);
  for (const { element, value } of values) {
    const rounded = k.round(k.mul(value, inverse));
    k.store("y", element, k.mul(type === "q8_K" ? k.min(rounded, 127) : rounded, step));
  }
}

/** An element and its place. */
interface Located {
  readonly value: F32;
  readonly element: U32;
}

interface Scales {
  /** Multiplies values before they are rounded to whole numbers. */
  readonly inverse: F32;
  /** Multiplies the whole numbers. */
  readonly step: F32;
}

/** q8_0 and q8_1: `step = f16(max|x| / 127)`, `inverse = 127 / max|x|`. */
function symmetricScale(k: Emitter, values: readonly Located[]): Scales {
  const own = values.map(({ value }) => k.abs(value)).reduce((a, b) => k.max(a, b));
  const [largest] = k.reducer(["f32"])([own], ([a], [b]) => [k.max(a, b)]);
  const isZero = k.compare("eq", largest, 0);
  return {
    inverse: k.select(isZero, k.constant("f32", 0), k.divRounded(k.constant("f32", 127), largest)),
    step: k.fromHalf(k.toHalf(k.divRounded(largest, 127))),
  };
}

/** q8_K: with `m` the first value of the largest magnitude, `inverse = -127 / m`, `step = 1 / inverse`. */
function signedScale(k: Emitter, values: readonly Located[]): Scales {
  type Pair = Values<readonly ["f32", "u32"]>;
  const better = (a: Pair, b: Pair): Pair => {
    const [p, q] = [k.abs(a[0]), k.abs(b[0])];
    const isFirst = k.both(k.compare("eq", q, p), k.compare("lt", b[1], a[1]));
    const isBetter = k.either(k.compare("gt", q, p), isFirst);
    return [k.select(isBetter, b[0], a[0]), k.select(isBetter, b[1], a[1])];
  };
  const own = values.map(({ value, element }): Pair => [value, element]).reduce(better);
  const [value] = k.reducer(["f32", "u32"])(own, better);
  const isZero = k.compare("eq", value, 0);
  const zero = k.constant("f32", 0);
  const inverse = k.divRounded(k.constant("f32", -127), value);
  return { inverse: k.select(isZero, zero, inverse), step: k.select(isZero, zero, k.divRounded(k.constant("f32", 1), inverse)) };
}
