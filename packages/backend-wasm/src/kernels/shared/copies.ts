import type { DType } from "@centella/core";
import { entryOf } from "@centella/core/backend";
import { floatToBfloat, floatToHalf } from "@centella/quant";
import { bytesOf } from "../../elementwise/lanes.ts";
import { type FunctionBuilder, type I32, i32, i32x4, type Local, type ModuleBuilder, v128 } from "../../emit/index.ts";
import type { BuildContext, Emitted, Range } from "../../kernel.ts";
import { ranges } from "./axes.ts";
import { emitTranspose, transposedColumns } from "./transpose.ts";
import { zip } from "./zip.ts";

/** One axis of a copied block: its extent and the source and target strides, in elements. */
export interface CopyAxis {
  readonly n: number;
  readonly x: number;
  readonly y: number;
}

/** A block of elements and its offsets in two tensors, in elements. Axes are ordered from the innermost out. */
export interface Block {
  readonly axes: readonly CopyAxis[];
  readonly from: number;
  readonly to: number;
}

/** Returns a function that copies blocks of up to `rank` axes between tensors of a plain dtype. */
export function blockCopy({ emit }: BuildContext, dtype: DType, rank: number): (x: number, y: number, block: Block) => readonly Range[] {
  const size = bytesOf(dtype);
  const outer = Math.max(1, rank - 1);
  const call = emit(`copy ${size} ${outer}`, (module, name) => emitCopy(module, name, size, outer));
  const turn = size === 4 && rank > 1 ? emit("turn", emitTranspose) : undefined;
  return (x, y, { axes, from, to }) => {
    const [inner = { n: 1, x: 1, y: 1 }, ...around] = merged(axes);
    const [next, plane = { n: 1, x: 0, y: 0 }] = around;
    if (turn !== undefined && next?.x === 1 && inner.y === 1 && around.length <= 2) {
      const steps = [inner.n, size * inner.x, next.n, size * next.y, size * plane.x, size * plane.y];
      const units = inner.n === 0 ? 0 : plane.n * Math.ceil(next.n / transposedColumns);
      return ranges(turn, [x + size * from, y + size * to, ...steps], units, inner.n * transposedColumns);
    }
    const rest = Array.from({ length: outer }, (_, i) => around[i] ?? { n: 1, x: 0, y: 0 });
    const words = rest.flatMap((axis) => [axis.n, size * axis.x, size * axis.y]);
    const args = [x + size * from, y + size * to, inner.n, size * inner.x, size * inner.y, ...words];
    const rows = rest.reduce((product, { n }) => product * n, 1);
    return ranges(call, args, inner.n === 0 ? 0 : rows, inner.n);
  };
}

/** Row-major strides. */
export function stridesOf(shape: readonly number[]): readonly number[] {
  let stride = 1;
  return shape
    .toReversed()
    .map((extent) => {
      const own = stride;
      stride *= extent;
      return own;
    })
    .reverse();
}

/** Axes of a block from its shape and strides, both ordered from the outermost in. */
export function axesOf(shape: readonly number[], x: readonly number[], y: readonly number[]): readonly CopyAxis[] {
  return zip(shape, zip(x, y))
    .map(([n, [from, to]]) => ({ n, x: from, y: to }))
    .reverse();
}

function merged(axes: readonly CopyAxis[]): readonly CopyAxis[] {
  const result: CopyAxis[] = [];
  for (const axis of axes) {
    if (axis.n === 1) continue;
    const last = result.at(-1);
    if (last !== undefined && axis.x === last.x * last.n && axis.y === last.y * last.n)
      result[result.length - 1] = { ...last, n: last.n * axis.n };
    else result.push(axis);
  }
  return result;
}

/** Copies one element of `size` bytes. */
export function copyElement(f: FunctionBuilder, size: number, to: I32, from: I32): void {
  if (size === 4) f.store(to, i32.load(from));
  else if (size === 2) f.store16(to, i32.load16U(from));
  else f.store8(to, i32.load8U(from));
}

function emitCopy(module: ModuleBuilder, name: string, size: number, outer: number): void {
  const axisWords = Array.from({ length: outer }, (_, i) => [`n${i}`, `x${i}`, `y${i}`]).flat();
  const words = ["x", "y", "n", "xStep", "yStep", ...axisWords, "begin", "end"];
  module.function(name, Object.fromEntries(words.map((word) => [word, "i32" as const])), (f, params) => {
    const locals = new Map(Object.entries(params));
    const word = (param: string): Local<"i32"> => entryOf(locals, param);
    const [n, xStep, yStep] = [word("n"), word("xStep"), word("yStep")];
    const [row, rest, left, from, to] = f.locals("i32", 5);
    f.for(row, word("begin"), word("end"), 1, () => {
      f.set(rest, row);
      f.set(from, word("x"));
      f.set(to, word("y"));
      for (let axis = 0; axis < outer; axis++) {
        const at = axis === outer - 1 ? rest : f.let(i32.remU(rest, word(`n${axis}`)));
        f.advance(from, i32.mul(at, word(`x${axis}`)));
        f.advance(to, i32.mul(at, word(`y${axis}`)));
        if (axis < outer - 1) f.set(rest, i32.divU(rest, word(`n${axis}`)));
      }
      f.if(
        i32.and(i32.eq(xStep, size), i32.eq(yStep, size)),
        () => copyBytes(f, to, from, f.let(i32.mul(n, size))),
        () => {
          f.set(left, n);
          f.while(left, () => {
            copyElement(f, size, to, from);
            f.advance(from, xStep);
            f.advance(to, yStep);
            f.advance(left, -1);
          });
        },
      );
    });
  });
}

/** Copies bytes and advances all three. `memory.copy` costs more to start than copying a few bytes. */
export function copyBytes(f: FunctionBuilder, to: Local<"i32">, from: Local<"i32">, bytes: Local<"i32">): void {
  f.if(i32.geU(bytes, 256), () => {
    f.memoryCopy(to, from, bytes);
    f.advance(to, bytes);
    f.advance(from, bytes);
    f.setI32(bytes, 0);
  });
  f.while(i32.geU(bytes, 16), () => {
    f.store(to, v128.load(from));
    f.advance(to, 16);
    f.advance(from, 16);
    f.advance(bytes, -16);
  });
  f.while(i32.geU(bytes, 4), () => {
    f.store(to, i32.load(from));
    f.advance(to, 4);
    f.advance(from, 4);
    f.advance(bytes, -4);
  });
  f.while(bytes, () => {
    f.store8(to, i32.load8U(from));
    f.advance(to, 1);
    f.advance(from, 1);
    f.advance(bytes, -1);
  });
}

/** Returns a function that fills tensors with one value, given as an element's bits. */
export function filler({ emit }: BuildContext, dtype: DType): (y: number, count: number, bits: number) => readonly Range[] {
  const size = bytesOf(dtype);
  const call: Emitted = emit("fill", (module, name) => {
    module.function(name, { y: "i32", bits: "i32", begin: "i32", end: "i32" }, (f, { y, bits, begin, end }) => {
      const quad = f.let(i32x4.splat(bits));
      const left = f.let(i32.sub(end, begin));
      f.advance(y, begin);
      f.while(i32.geU(left, 16), () => {
        f.store(y, quad);
        f.advance(y, 16);
        f.advance(left, -16);
      });
      f.while(left, () => {
        f.store8(y, bits);
        f.set(bits, i32.or(i32.shrU(bits, 8), i32.shl(bits, 24)));
        f.advance(y, 1);
        f.advance(left, -1);
      });
    });
  });
  return (y, count, bits) => {
    const repeated = size === 4 ? bits : size === 2 ? bits * 0x10001 : bits * 0x1010101;
    // Grains are multiples of 4 bytes, so that each starts with a whole pattern.
    return ranges(call, [y, repeated | 0], count * size, 1);
  };
}

/** Bits of a value in a plain dtype. */
export function bitsOf(dtype: DType, value: number): number {
  if (dtype === "f16") return floatToHalf(value);
  if (dtype === "bf16") return floatToBfloat(value);
  if (dtype !== "f32") return dtype === "i8" || dtype === "u8" || dtype === "bool" ? value & 0xff : value | 0;
  return new DataView(Float32Array.of(value).buffer).getInt32(0, true);
}
