import { elementAt, lastOf } from "@centella/quant/checks";

/**
 * Kernels that only reach a limit of the machine, as WASM bytes. They do not use the backend's emitter, because a ceiling must not depend
 * on the code that is compared with it.
 */

const i32 = 0x7f;
const f32 = 0x7d;
const v128 = 0x7b;
const accumulators = 12;
const fmaUnroll = 4;
/** Bytes per iteration of the streaming kernels. Their lengths must be multiples of it. */
export const streamBytes = 128;

/** Flops of one iteration of `fma`: lanes x 2. */
export const fmaFlops: number = accumulators * fmaUnroll * 8;

/** Ways to add products of bytes. The fastest one depends on the processor; some need relaxed SIMD. */
export type DotKernel = "dotPairs" | "dotQuads" | "dotWide";

/** Multiplications and additions of one iteration of a kernel of dots. */
export const dotOps: Readonly<Record<DotKernel, number>> = {
  dotPairs: accumulators * fmaUnroll * 32,
  dotQuads: accumulators * fmaUnroll * 32,
  dotWide: accumulators * fmaUnroll * 16,
};

/** Ways that an engine supports. */
export function dotKernels(relaxed: boolean): readonly DotKernel[] {
  return relaxed ? ["dotPairs", "dotQuads"] : ["dotWide"];
}

/** Exports of the module; addresses and lengths are in bytes. */
export interface CeilingKernels {
  /** `acc = acc * x + y` on {@link fmaFlops} flops per iteration, without touching memory. */
  fma(iterations: number): number;
  /** 8-bit products added to 16 bits by twos, or to 32 bits by fours; or 16-bit ones to 32 bits by twos. Without touching memory. */
  dotPairs?(iterations: number): number;
  dotQuads?(iterations: number): number;
  dotWide?(iterations: number): number;
  /** Adds up 32-bit integers. */
  read(address: number, bytes: number): number;
  copy(from: number, to: number, bytes: number): number;
}

/**
 * The module, over a memory `env.memory`. With `relaxed`, fma is one instruction, as in the kernels of engines
 * that have relaxed SIMD; without it a multiplication and an addition.
 */
export function ceilingModule(relaxed: boolean): Uint8Array<ArrayBuffer> {
  const functions = [fma(relaxed), ...dotKernels(relaxed).map(dots), read(), copy()];
  const types = functions.map(({ parameters, result }) => [0x60, ...vector(parameters.map((type) => [type])), 1, result]);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types)),
    ...section(2, vector([[...text("env"), ...text("memory"), 2, 0, ...leb(1)]])),
    ...section(3, vector(functions.map((_, i) => leb(i)))),
    ...section(7, vector(functions.map(({ name }, i) => [...text(name), 0, ...leb(i)]))),
    ...section(
      10,
      vector(
        functions.map(({ locals, code }) => {
          const body = [...vector(locals.map((type) => [1, type])), ...code, 0x0b];
          return [...leb(body.length), ...body];
        }),
      ),
    ),
  ]);
}

/** Whether this engine has relaxed SIMD. */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(ceilingModule(true));
}

interface Definition {
  readonly name: string;
  readonly parameters: readonly number[];
  readonly result: number;
  readonly locals: readonly number[];
  readonly code: readonly number[];
}

function fma(relaxed: boolean): Definition {
  const [x, y] = [1, 2];
  const acc = (i: number): number => 3 + i;
  const step = (i: number): number[] => {
    const operands = [...get(acc(i)), ...get(x)];
    return relaxed
      ? [...operands, ...get(y), ...simd(0x105), ...set(acc(i))]
      : [...operands, ...simd(0xe6), ...get(y), ...simd(0xe4), ...set(acc(i))];
  };
  const range = Array.from({ length: accumulators }, (_, i) => i);
  return {
    name: "fma",
    parameters: [i32],
    result: f32,
    locals: Array.from({ length: 2 + accumulators }, () => v128),
    code: [
      // The fixed point is 1, so that values always stay normal.
      ...[...splat(0.9375), ...set(x), ...splat(0.0625), ...set(y)],
      ...range.flatMap((i) => [...splat(1 + i / 16), ...set(acc(i))]),
      ...countDown(Array.from({ length: fmaUnroll }, () => range.flatMap(step)).flat(), 0, 1),
      ...range.flatMap((i) => [...get(acc(i)), ...(i === 0 ? [] : simd(0xe4))]),
      ...[...simd(0x1f), 0],
    ],
  };
}

function dots(name: DotKernel): Definition {
  const [x, y] = [1, 2];
  const acc = (i: number): number => 3 + i;
  // Each product has an accumulator in it: a product of constants would be computed once.
  const step = (i: number): number[] => {
    const own = get(acc(i));
    if (name === "dotQuads") return [...get(x), ...get(y), ...own, ...simd(0x113), ...set(acc(i))];
    const [dot, add] = name === "dotPairs" ? [0x112, 0x8e] : [0xba, 0xae];
    return [...own, ...own, ...get(y), ...simd(dot), ...simd(add), ...set(acc(i))];
  };
  const range = Array.from({ length: accumulators }, (_, i) => i);
  return {
    name,
    parameters: [i32],
    result: i32,
    locals: Array.from({ length: 2 + accumulators }, () => v128),
    code: [
      ...[0x41, 3, ...simd(0x0f), ...set(x), 0x41, 5, ...simd(0x0f), ...set(y)],
      ...range.flatMap((i) => [0x41, i, ...simd(0x0f), ...set(acc(i))]),
      ...countDown(Array.from({ length: fmaUnroll }, () => range.flatMap(step)).flat(), 0, 1),
      ...range.flatMap((i) => [...get(acc(i)), ...(i === 0 ? [] : simd(0xae))]),
      ...[...simd(0x1b), 0],
    ],
  };
}

function read(): Definition {
  // Four streams at a time, a quarter of the range each: one alone leaves the prefetchers of many CPUs half idle.
  const streams = [0, 10, 11, 12];
  const vectors = Array.from({ length: streamBytes / 16 }, (_, i) => i);
  const acc = (i: number): number => 2 + i;
  const quarter = [...get(1), 0x41, 2, 0x76];
  return {
    name: "read",
    parameters: [i32, i32],
    result: i32,
    locals: [...vectors.map(() => v128), i32, i32, i32],
    code: [
      ...streams.slice(1).flatMap((stream, i) => [...get(elementAt(streams, i)), ...quarter, 0x6a, ...set(stream)]),
      ...countDown(
        [
          ...vectors.flatMap((i) => [
            ...get(acc(i)),
            ...get(elementAt(streams, i >> 1)),
            ...load(16 * (i & 1)),
            ...simd(0xae),
            ...set(acc(i)),
          ]),
          ...streams.flatMap((stream) => advance(stream, streamBytes / 4)),
        ],
        1,
        streamBytes,
      ),
      ...vectors.flatMap((i) => [...get(acc(i)), ...(i === 0 ? [] : simd(0xae))]),
      ...simd(0x1b),
      0,
    ],
  };
}

function copy(): Definition {
  const offsets = Array.from({ length: streamBytes / 16 }, (_, i) => 16 * i);
  return {
    name: "copy",
    parameters: [i32, i32, i32],
    result: i32,
    locals: [],
    code: [
      ...countDown(
        [
          ...offsets.flatMap((offset) => [...get(1), ...get(0), ...load(offset), ...simd(0x0b), 4, ...leb(offset)]),
          ...advance(0, streamBytes),
          ...advance(1, streamBytes),
        ],
        2,
        streamBytes,
      ),
      ...get(2),
    ],
  };
}

/** `do { body; local -= by } while (local != 0)` */
function countDown(body: readonly number[], local: number, by: number): number[] {
  return [0x03, 0x40, ...body, ...get(local), 0x41, ...signedLeb(by), 0x6b, 0x22, ...leb(local), 0x0d, 0, 0x0b];
}

function advance(local: number, by: number): number[] {
  return [...get(local), 0x41, ...signedLeb(by), 0x6a, ...set(local)];
}

function splat(value: number): number[] {
  return [0x43, ...new Uint8Array(Float32Array.of(value).buffer), ...simd(0x13)];
}

function load(offset: number): number[] {
  return [...simd(0x00), 4, ...leb(offset)];
}

const get = (local: number): number[] => [0x20, ...leb(local)];
const set = (local: number): number[] => [0x21, ...leb(local)];
const simd = (opcode: number): number[] => [0xfd, ...leb(opcode)];

function vector(items: readonly (readonly number[])[]): number[] {
  return [...leb(items.length), ...items.flat()];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...leb(content.length), ...content];
}

function text(value: string): number[] {
  const bytes = new TextEncoder().encode(value);
  return [...leb(bytes.length), ...bytes];
}

function leb(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 127) | (rest > 127 ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return bytes;
}

/** Encodes a constant from 0 on. */
function signedLeb(value: number): number[] {
  const bytes = leb(value);
  const last = lastOf(bytes);
  return last < 64 ? bytes : [...bytes.slice(0, -1), last | 128, 0];
}
