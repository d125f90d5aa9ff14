import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Bool, Emitter, F32, I32, U32 } from "../emitter.ts";
import { asValue, type Extent, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuArgument, type GpuArguments, type GpuKernelOf, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { sinCosOf } from "../shared/math.ts";

/** Words of a pair's frequency, in turns per position: the whole part, then 64 bits of fraction, high word first. */
const wordsPerPair = 3;

/** How a `rope` turns the heads of its first input. */
export interface Rotation {
  /** Elements of a head, and how many of them are turned. */
  readonly width: number;
  readonly dims: number;
  readonly ropeType: ParamsOf<"rope">["ropeType"];
  readonly hasFactors: boolean;
}

/**
 * A lane per pair, and one per copied element. Angles are fractions of a turn in fixed point, so that position times frequency is exact
 * modulo one turn. f32 radians would be off by 1e-2 at position 100,000.
 */
export const rope: GpuKernelOf<"rope"> = {
  unsupported: ([x]) => (typeof x.shape[2] === "number" ? undefined : "no kernel for a symbolic head size"),
  steps: (call, params) => {
    const [x, , factors] = call.inputs;
    const rotation = rotationOf(x, params, factors !== undefined);
    const units = unitsOf(rotation);
    const angles = angleArgs(rotation, params, input(call, 1), factors && input(call, 2));
    const rotate: GpuStep = {
      kind: "each",
      name: factors === undefined ? params.ropeType : `${params.ropeType}_factors`,
      args: { x: input(call, 0), ...angles, y: output(call) },
      shape: [...x.shape.slice(0, 2), units],
      body: (scope, index) => {
        const { k } = scope;
        const heads = scope.extent(dimAt(x, 1));
        const [token, head, unit] = unflatten(k, index, [1, heads, scope.whole(units)]);
        rotateUnit(scope, rotation, { token, row: timesPlus(k, token, heads, head), unit: asValue(k, unit) });
      },
    };
    return [rotate];
  },
};

/** The rotation of heads `[T, H, D]`. */
export function rotationOf({ shape }: TensorSpec, { dims, ropeType }: ParamsOf<"rope">, hasFactors: boolean): Rotation {
  const width = shape[2] as number;
  return { width, dims: dims === 0 ? width : dims, ropeType, hasFactors };
}

/** Lanes that turn a head. */
export function unitsOf({ width, dims }: Rotation): number {
  return width - dims / 2;
}

/** The arguments that angles are computed from. */
export function angleArgs(
  { dims }: Rotation,
  params: ParamsOf<"rope">,
  positions: GpuArgument,
  factors: GpuArgument | undefined,
): GpuArguments {
  return { positions, frequencies: { kind: "table", dtype: "u32", words: frequencies(dims, params) }, ...(factors && { factors }) };
}

/** Turns a pair of row `row` of `x`, or copies an element of it, into `y`. */
export function rotateUnit(
  scope: GpuScope,
  rotation: Rotation,
  { token, row, unit }: { readonly token: Extent; readonly row: Extent; readonly unit: U32 },
): void {
  const { k } = scope;
  const { width, dims, ropeType } = rotation;
  const [start, half] = [times(k, row, scope.whole(width)), scope.whole(dims / 2)];
  const rotated = (): void => {
    const isInterleaved = ropeType === "norm";
    const first = plus(k, start, isInterleaved ? k.mul(unit, 2) : unit);
    const second = plus(k, first, isInterleaved ? 1 : half);
    const angle = angleAt(k, rotation, unit, token);
    const [a, b] = turnedPair(k, [k.load("x", first), k.load("x", second)], angle);
    k.store("y", first, a);
    k.store("y", second, b);
  };
  const copied = (): void => {
    const at = plus(k, start, k.add(unit, half));
    k.store("y", at, k.load("x", at));
  };
  if (width === dims) rotated();
  else k.if(k.compare("lt", unit, half), rotated, copied);
}

/** Element `d` of row `row` of the argument `x` after the rotation, with the bits that {@link rotateUnit} stores. */
export function rotatedElement(
  scope: GpuScope,
  rotation: Rotation,
  { x, token, row, d }: { readonly x: string; readonly token: U32; readonly row: Extent; readonly d: U32 },
): F32 {
  const { k } = scope;
  const { width, dims, ropeType } = rotation;
  const [start, half] = [times(k, row, scope.whole(width)), scope.whole(dims / 2)];
  const own = k.load(x, plus(k, start, d));
  const rotated = (): F32 => {
    const isInterleaved = ropeType === "norm";
    const isSecond = isInterleaved ? k.compare("eq", k.and(d, 1), 1) : k.compare("ge", d, half);
    const pair = isInterleaved ? k.shiftRight(d, 1) : k.select(isSecond, k.sub(d, half), d);
    const partner = isInterleaved ? k.xor(d, 1) : k.select(isSecond, pair, k.add(d, half));
    const angle = angleAt(k, rotation, pair, token);
    return turned(k, { own, other: k.load(x, plus(k, start, partner)), isSecond }, angle);
  };
  if (width === dims) return rotated();
  const value = k.variable("f32", own);
  k.if(k.compare("lt", d, scope.whole(dims)), () => value.set(rotated()));
  return value.get();
}

/** A pair of elements after the rotation. */
export function turnedPair(k: Emitter, [a, b]: readonly [F32, F32], { sin, cos }: Angle): readonly [F32, F32] {
  return [k.fma(a, cos, k.neg(k.mul(b, sin))), k.fma(a, sin, k.mul(b, cos))];
}

/** An element of a pair, and the other one. */
interface PairElement {
  readonly own: F32;
  readonly other: F32;
  /** Whether `own` is the second element. */
  readonly isSecond: Bool;
}

/** An element of a pair after the rotation, with the bits that {@link rotateUnit} stores. */
export function turned(k: Emitter, { own, other, isSecond }: PairElement, { sin, cos }: Angle): F32 {
  return k.select(isSecond, k.fma(other, sin, k.mul(own, cos)), k.fma(own, cos, k.neg(k.mul(other, sin))));
}

/** Sine and cosine of an angle. */
export interface Angle {
  readonly sin: F32;
  readonly cos: F32;
}

/** The angle of a pair at a token. */
function angleAt(k: Emitter, { hasFactors }: Rotation, pair: U32, token: Extent): Angle {
  return sinCosAt(k, frequencyOf(k, pair, hasFactors), k.loadInteger("positions", asValue(k, token)));
}

/** The angle of element `at` of a head whose pairs are neighbours; past `dims`, where elements are not turned, that of the last pair. */
export function elementAngle(k: Emitter, rotation: Rotation, at: U32, token: Extent): Angle {
  const { width, dims } = rotation;
  const pair = k.shiftRight(at, 1);
  return angleAt(k, rotation, width === dims ? pair : k.min(pair, dims / 2 - 1), token);
}

function frequencies(dims: number, { base, scale }: ParamsOf<"rope">): Uint32Array {
  const words = new Uint32Array(wordsPerPair * (dims / 2));
  for (let i = 0; i < dims / 2; i++) {
    const frequency = (scale * base ** ((-2 * i) / dims)) / (2 * Math.PI);
    const high = (frequency % 1) * 2 ** 32;
    words.set([Math.floor(frequency), Math.floor(high), Math.floor((high % 1) * 2 ** 32)], wordsPerPair * i);
  }
  return words;
}

/** Fraction of a turn per position of a pair, in two words. */
function frequencyOf(k: Emitter, pair: U32, hasFactors: boolean): readonly [high: U32, low: U32] {
  const at = k.mul(pair, wordsPerPair);
  const word = (i: number): U32 => k.loadBits("frequencies", k.add(at, i));
  return hasFactors ? k.divideFixed([word(0), word(1), word(2)], k.load("factors", pair)) : [word(1), word(2)];
}

/** The angle at a position. */
function sinCosAt(k: Emitter, [high, low]: readonly [U32, U32], position: I32): Angle {
  const isBackwards = k.compare("lt", position, 0);
  const signed = k.bitcast("u32", position);
  const distance = k.select(isBackwards, negated(k, signed), signed);
  // In units of 2^-32 turns; whole turns overflow.
  const forwards = k.add(k.mul(distance, high), k.multiplyHigh(distance, low));
  const turns = k.select(isBackwards, negated(k, forwards), forwards);
  const q = k.shiftRight(k.add(turns, 0x20000000), 30);
  const rest = k.bitcast("i32", k.sub(turns, k.shiftLeft(q, 30)));
  return sinCosOf(k, { r: k.mul(k.convert("f32", rest), (2 * Math.PI) / 2 ** 32), q });
}

function negated(k: Emitter, x: U32): U32 {
  return k.sub(k.constant("u32", 0), x);
}
