import type { ConcreteSpec, TypedArray } from "@centella/core";
import { byteLength, decode, decodedArrayOf, elementAt, elementCount, encode, isInteger, isQuantized } from "@centella/core/backend";
import { blockLayout, dequantize } from "@centella/quant";
import type { CaseTensor, Fill } from "./opCases.ts";

/** Contents of a tensor: as stored, and decoded for an op's reference. */
export interface Contents {
  readonly spec: ConcreteSpec;
  readonly stored: TypedArray;
  readonly decoded: TypedArray;
}

/** A seed from a text: FNV-1a. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Numbers in [0, 1), the same everywhere for the same seed: mulberry32. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Contents of a case's input: its values, or random ones by its fill and the seed. */
export function contentsOf({ dtype, shape, values, fill }: CaseTensor, seed: number): Contents {
  const spec = { dtype, shape };
  if (isQuantized(dtype) && values === undefined) {
    const stored = randomBlocks(spec, random(seed));
    return { spec, stored, decoded: decode(spec, stored) };
  }
  const range = fill ?? (dtype === "bool" ? { low: 0, high: 1 } : dtype === "u8" || dtype === "u32" ? { low: 0, high: 200 } : undefined);
  const numbers = decodedArrayOf(dtype).from(values ?? filled(elementCount(shape), isInteger(dtype), range, random(seed)));
  const stored = encode(spec, numbers);
  return { spec, stored, decoded: decode(spec, stored) };
}

/** `count` seeded f32 values from -1 to 1. */
export function uniform(seed: number, count: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: count }, () => 2 * next() - 1);
}

function filled(count: number, integers: boolean, fill: Fill | undefined, next: () => number): number[] {
  if (fill === "special")
    return Array.from({ length: count }, (_, i) =>
      i % 3 === 1 ? elementAt(special, Math.floor(next() * special.length)) : 2 * next() - 1,
    );
  const { low, high } = fill ?? (integers ? { low: -100, high: 100 } : { low: -1, high: 1 });
  return Array.from({ length: count }, () => (integers ? low + Math.floor(next() * (high - low + 1)) : low + next() * (high - low)));
}

const special = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1e-40, -1e-40, 3e38, -3e38];

/** Random bytes, drawn per block until it decodes to finite numbers of the magnitude of weights. */
function randomBlocks(spec: ConcreteSpec, next: () => number): Uint8Array {
  const { dtype } = spec;
  if (!isQuantized(dtype)) throw new TypeError(`${dtype} is no block type`);
  const { blockBytes, blockElements } = blockLayout(dtype);
  const bytes = new Uint8Array(byteLength(spec));
  const values = new Float32Array(blockElements);
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes);
    do {
      for (let i = 0; i < blockBytes; i++) block[i] = Math.floor(next() * 256);
      dequantize(dtype, block, values);
    } while (!values.every((value) => Math.abs(value) <= 2) || !values.some((value) => Math.abs(value) >= 2 ** -6));
  }
  return bytes;
}
