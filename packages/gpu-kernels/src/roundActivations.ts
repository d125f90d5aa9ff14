import type { TensorSpec } from "@centella/core";
import type { ActivationType } from "@centella/quant";
import { isHalf } from "@centella/quant";
import type { Emitter, F32, SharedArray, U32, Values } from "./emitter.ts";
import { asValue, divide, type Extent, offset, times, timesPlus, unflatten } from "./extent.ts";
import type { GpuArgument, GpuScope, GpuStep } from "./kernel.ts";
import { forEachOf } from "./rows/rows.ts";
import { roundedTo } from "./shared/dtypes.ts";

/** What activations are rounded to: 8-bit blocks, or the type of 16-bit weights. */
export type RoundedType = ActivationType | "f16" | "bf16";

/** Lanes that share a block of activations. */
const lanes = 32;

/** Elements of a block. */
export const activationBlock: Readonly<Record<ActivationType, number>> = { q8_0: 32, q8_1: 32, q8_K: 256 };

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
  const perBlock = activationBlock[type];
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
  const elements = Array.from({ length: activationBlock[type] / lanes }, (_, i) => elementAt(i));
  const values = elements.map((element): Located => [k.load("a", sourceAt(element)), element]);
  const scales = scalesOf(k, type, type === "q8_K" ? firstLargest(k, values) : largestMagnitude(k, values));
  for (const [value, element] of values) k.store("y", element, roundedBy(k, type, value, scales));
}

function largestMagnitude(k: Emitter, values: readonly Located[]): F32 {
  const own = values.map(([value]) => k.abs(value)).reduce((a, b) => k.max(a, b));
  return k.reducer(["f32"])([own], ([a], [b]) => [k.max(a, b)])[0];
}

/** The first value of the largest magnitude. */
function firstLargest(k: Emitter, values: readonly Located[]): F32 {
  const better = (a: Located, b: Located): Located => largerOf(k, a, b);
  return k.reducer(["f32", "u32"])(values.reduce(better), better)[0];
}

/** Elements of a block that a lane of {@link roundStaged} rounds. */
const partElements = 32;

/** Memory that the lanes of a group share. */
type Staged = Pick<SharedArray<"f32">, "get" | "set">;

/**
 * Rounds `count` elements in memory that the lanes of a group share, in place: whole blocks, at most `capacity` elements. The bits are
 * those of {@link roundActivationsStep}. All lanes may read the elements before and afterwards.
 */
export function roundStaged(
  scope: GpuScope,
  type: ActivationType,
  { staged, count, capacity }: { readonly staged: Staged; readonly count: Extent; readonly capacity: number },
): void {
  const { k } = scope;
  const parts = asValue(k, divide(k, count, partElements)[0]);
  const values = k.shared("f32", capacity / partElements);
  const places = k.shared("u32", capacity / partElements);
  const perBlock = activationBlock[type] / partElements;
  forEachOf(scope, parts, (part) => {
    const [value, place] = largestOfPart(k, staged, part);
    values.set(part, value);
    places.set(part, place);
  });
  k.sync();
  forEachOf(scope, parts, (part) => {
    const first = k.mul(k.quotient(part, perBlock), perBlock);
    const ofParts = Array.from({ length: perBlock }, (_, i): Located => {
      const at = k.add(first, i);
      return [values.get(at), places.get(at)];
    });
    const [value] = ofParts.reduce((a, b) => largerOf(k, a, b));
    const scales = scalesOf(k, type, type === "q8_K" ? value : k.abs(value));
    eachOfPart(k, part, (i) => staged.set(i, roundedBy(k, type, staged.get(i), scales)));
  });
  k.sync();
}

function largestOfPart(k: Emitter, staged: Staged, part: U32): Located {
  const first = k.mul(part, partElements);
  const [value, element] = [k.variable("f32", staged.get(first)), k.variable("u32", first)];
  eachOfPart(k, part, (i) => {
    const [larger, at] = largerOf(k, [value.get(), element.get()], [staged.get(i), i]);
    value.set(larger);
    element.set(at);
  });
  return [value.get(), element.get()];
}

/** Runs `body` for each element of a part, in another order in neighbouring lanes: these read different banks of memory. */
function eachOfPart(k: Emitter, part: U32, body: (i: U32) => void): void {
  const first = k.mul(part, partElements);
  k.for(0, partElements, 1, (i) => body(k.add(first, k.and(k.add(i, part), partElements - 1))));
}

/** An element and its place. */
type Located = Values<readonly ["f32", "u32"]>;

/** The element of larger magnitude; of equal magnitudes, the first one. */
function largerOf(k: Emitter, a: Located, b: Located): Located {
  const [p, q] = [k.abs(a[0]), k.abs(b[0])];
  const isFirst = k.both(k.compare("eq", q, p), k.compare("lt", b[1], a[1]));
  const isBetter = k.either(k.compare("gt", q, p), isFirst);
  return [k.select(isBetter, b[0], a[0]), k.select(isBetter, b[1], a[1])];
}

/** Scales of a block of activations. */
export interface ActivationScales {
  /** Multiplies values before they are rounded to whole numbers. */
  readonly inverse: F32;
  /** Multiplies the whole numbers. */
  readonly step: F32;
}

/**
 * The scales of a block. q8_0 and q8_1, from the largest magnitude: `step = f16(largest / 127)`, `inverse = 127 / largest`. q8_K, from the
 * first value of the largest magnitude: `inverse = -127 / largest`, `step = 1 / inverse`.
 */
export function scalesOf(k: Emitter, type: ActivationType, largest: F32): ActivationScales {
  const isZero = k.compare("eq", largest, 0);
  const zero = k.constant("f32", 0);
  if (type !== "q8_K") {
    return {
      inverse: k.select(isZero, zero, k.divRounded(k.constant("f32", 127), largest)),
      step: k.fromHalf(k.toHalf(k.divRounded(largest, 127))),
    };
  }
  const inverse = k.divRounded(k.constant("f32", -127), largest);
  return { inverse: k.select(isZero, zero, inverse), step: k.select(isZero, zero, k.divRounded(k.constant("f32", 1), inverse)) };
}

/** The code of a value, a whole number from -128 to 127. */
export function roundedCode(k: Emitter, type: ActivationType, value: F32, { inverse }: ActivationScales): F32 {
  const rounded = k.round(k.mul(value, inverse));
  return type === "q8_K" ? k.min(rounded, 127) : rounded;
}

/** A value rounded to a multiple of its block's step. */
export function roundedBy(k: Emitter, type: ActivationType, value: F32, scales: ActivationScales): F32 {
  return k.mul(roundedCode(k, type, value, scales), scales.step);
}
