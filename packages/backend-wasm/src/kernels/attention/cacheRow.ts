import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  i16x8,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  type V128,
  v128,
} from "../../emit/index.ts";
import { loadHalves } from "../../formats/half.ts";
import { laneMask } from "../../matmul/lanes.ts";
import { memoryMap } from "../../memory/memoryMap.ts";
import type { Pointer } from "./parts.ts";

/** Element types of a KV cache. */
export const cacheTypes = ["f32", "f16", "q8_0"] as const;

export type CacheType = (typeof cacheTypes)[number];

/** Rows that may be read after the last one of a tile, if the number of keys is not a multiple of the columns. */
export const spareKeys = 3;

/** Bytes of an address in a list of rows. */
export const addressBytes = 8;

/** Copies `width` elements of a cache row as f32, zero-padded up to `end`, a multiple of 16 bytes. */
export function copyRow(f: FunctionBuilder, type: CacheType, row: Pointer, copy: Pointer, width: Pointer, end: Pointer): void {
  const [from, to, left] = [f.let(row), f.let(copy), f.let(width)];
  if (type === "q8_0") f.while(left, () => copyStep(f, type, from, to, left));
  else copyRest(f, from, to, left, type === "f32" ? 16 : 8, () => (type === "f32" ? f.let(v128.load(from)) : loadHalves(f, from)));
  f.while(i32.ltU(to, end), () => {
    f.store(to, v128.zero());
    f.advance(to, 16);
  });
}

/** Elements per {@link copyStep}. */
const stepElements = { f32: 16, f16: 16, q8_0: 32 } as const;

/**
 * Copies the next elements of a row and advances both pointers. Halves are {@link splitHalves}, and update `largest`.
 */
function copyStep(f: FunctionBuilder, type: CacheType, from: Pointer, to: Pointer, left: Pointer, largest?: Local<"v128">): void {
  if (type === "q8_0") {
    const d = f.let(f32x4.splat(f32.load(i32.add(i32.shl(i32.load16U(from), 2), memoryMap.halfTable))));
    for (let eight = 0; eight < 4; eight++) {
      const words = f.let(v128.load8x8S(from, 2 + 8 * eight));
      f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendLowS(words)), d), 32 * eight);
      f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendHighS(words)), d), 32 * eight + 16);
    }
  } else if (type === "f32") {
    for (let at = 0; at < 64; at += 16) f.store(to, v128.load(from, at), at);
  } else {
    for (let at = 0; at < 32; at += 16) {
      const halves = f.let(v128.load(from, at));
      for (const parity of [0, 1] as const) f.store(to, splitHalves(f, halves, parity), 2 * at + 16 * parity);
      if (largest !== undefined) f.set(largest, largerHalves(largest, halves));
    }
  }
  const elements = stepElements[type];
  f.advance(from, type === "q8_0" ? 34 : type === "f16" ? 2 * elements : 4 * elements);
  f.advance(to, 4 * elements);
  f.advance(left, -elements);
}

/** Copies the last elements of a row, four at a time, zero-padded. */
function copyRest(f: FunctionBuilder, from: Pointer, to: Pointer, left: Pointer, bytes: number, four: () => Local<"v128">): void {
  f.while(i32.gtS(left, 0), () => {
    const value = four();
    f.if(i32.ltS(left, 4), () => f.set(value, v128.and(value, laneMask(f, left))));
    f.store(to, value);
    f.advance(from, bytes);
    f.advance(to, 16);
    f.advance(left, -4);
  });
}

/** Power of two by which {@link splitHalves} differ from their values. */
export const splitScale: number = 2 ** -112;

/**
 * The four even or the four odd ones of eight finite halves, as f32 times {@link splitScale}. These take two
 * instructions: the bits of an f32's exponent are not rebased.
 */
export function splitHalves(f: FunctionBuilder, halves: Local<"v128">, parity: 0 | 1): Local<"v128"> {
  // Even ones: a product of 16 bits both sign-extends and shifts.
  const shifted = parity === 1 ? i32x4.shrS(halves, 3) : i32x4.dotI16x8(halves, f.splatBits(0x2000));
  return f.let(v128.and(shifted, f.splatBits(0x8fffe000)));
}

/** `largest` or the halves without their signs, whichever are larger. */
export function largerHalves(largest: V128, halves: Local<"v128">): V128 {
  return i16x8.maxU(largest, i16x8.add(halves, halves));
}

/** Whether there was an infinity or a NaN among {@link largerHalves}. */
export function hasSpecial(f: FunctionBuilder, largest: V128): Expr<"i32"> {
  const bound = f.data(new Uint8Array(new Uint16Array([0x1e, 0x1e]).buffer));
  return v128.anyTrue(i16x8.gtS(i16x8.shrU(largest, 11), v128.load32Splat(bound)));
}

/** Replaces f32 from `at` to `end`, in order, with {@link splitHalves}. */
function splitRow(f: FunctionBuilder, at: Pointer, end: Pointer): void {
  f.while(i32.ltU(at, end), () => {
    const [a, b] = [f.let(v128.load(at)), f.let(v128.load(at, 16))];
    f.store(at, f32x4.mul(f32x4.shuffle(a, b, [0, 2, 4, 6]), f.splat(splitScale)));
    f.store(at, f32x4.mul(f32x4.shuffle(a, b, [1, 3, 5, 7]), f.splat(splitScale)), 16);
    f.advance(at, 32);
  });
}

const rowsSignature = {
  at: "i32",
  end: "i32",
  memory: "i32",
  slotBytes: "i32",
  headBytes: "i32",
  table: "i32",
  blockSize: "i32",
  slots: "i32",
  list: "i32",
  holes: "i32",
  zeros: "i32",
} as const;

/**
 * Emits `attention.rows`: writes the address of each position's row to `list`, {@link addressBytes} apart, followed by
 * {@link spareKeys} more. Positions without a slot get the row `zeros`, and are listed at `holes`, relative to the first.
 */
export function emitRows(module: ModuleBuilder): FunctionRef<typeof rowsSignature, undefined> {
  return module.function("attention.rows", rowsSignature, (f, p) => {
    const { at, list, holes, zeros } = p;
    const [slot, next, address] = f.locals("i32", 3);
    const from = f.let(at);
    f.store(holes, i32.const(0));
    f.while(i32.ltS(at, p.end), () => {
      const block = f.let(i32.divU(at, p.blockSize));
      f.set(next, i32.mul(i32.add(block, 1), p.blockSize));
      f.set(next, i32.select(i32.ltS(next, p.end), next, p.end));
      f.set(slot, i32.add(i32.mul(i32.load(i32.add(p.table, i32.shl(block, 2))), p.blockSize), i32.remU(at, p.blockSize)));
      f.while(i32.ltS(at, next), () => {
        f.set(address, i32.add(p.memory, i32.mul(slot, p.slotBytes)));
        f.if(i32.geU(slot, p.slots), () => {
          f.memoryFill(zeros, 0, p.headBytes);
          f.set(address, zeros);
          const count = f.let(i32.add(i32.load(holes), 1));
          f.store(i32.add(holes, i32.shl(count, 2)), i32.sub(at, from));
          f.store(holes, count);
        });
        f.storeAddress(list, address);
        f.advance(list, addressBytes);
        f.advance(slot, 1);
        f.advance(at, 1);
      });
    });
    for (let i = 0; i < spareKeys; i++) f.storeAddress(list, address, addressBytes * i);
  });
}

const touchSignature = { list: "i32", count: "i32", bytes: "i32" } as const;

/**
 * Emits `attention.touch`: prefetches `bytes` bytes of each row in a list by reading one word per cache line. Returns a
 * value that depends on the reads. Independent loads keep the memory busy; loads between conversions would not.
 */
export function emitTouch(module: ModuleBuilder): FunctionRef<typeof touchSignature, "i32"> {
  return module.value("attention.touch", touchSignature, "i32", (f, { list, count, bytes }) => {
    const [line, end, result] = f.locals("i32", 3);
    f.if(bytes, () => {
      f.while(count, () => {
        f.set(line, i32.loadAddress(list));
        f.set(end, i32.add(line, bytes));
        f.loop((again) => {
          f.set(result, i32.or(result, i32.load(line)));
          f.advance(line, 64);
          f.brIf(again, i32.ltU(line, end));
        });
        f.advance(list, addressBytes);
        f.advance(count, -1);
      });
    });
    return result;
  });
}

const gatherSignature = { list: "i32", count: "i32", offset: "i32", to: "i32", rowBytes: "i32", width: "i32" } as const;

/**
 * Emits `attention.gather.<type>`: copies `width` elements at `offset` of `count` rows in a list to rows of f32 at `to`.
 * Halves become {@link splitHalves} if rows are {@link isWhole}.
 */
export function emitGather(module: ModuleBuilder, type: CacheType): FunctionRef<typeof gatherSignature, undefined> {
  return module.function(`attention.gather.${type}`, gatherSignature, (f, p) => {
    const { list, count, to, width } = p;
    const [left, from, next, at, row] = f.locals("i32", 5);
    const whole = f.let(i32.and(isWhole(type, width), i32.eq(p.rowBytes, i32.shl(width, 2))));
    f.if(whole, () => {
      const largest = f.let(v128.zero());
      f.set(at, list);
      f.set(row, to);
      f.set(next, count);
      f.while(next, () => {
        f.set(from, i32.add(i32.loadAddress(at), p.offset));
        f.set(left, width);
        f.loop((again) => {
          copyStep(f, type, from, row, left, largest);
          f.brIf(again, left);
        });
        f.advance(at, addressBytes);
        f.advance(next, -1);
      });
      // Only finite halves are converted correctly.
      f.if(type === "f16" ? i32.eqz(hasSpecial(f, largest)) : i32.const(1), () => f.setI32(count, 0));
    });
    f.while(count, () => {
      f.set(from, i32.add(i32.loadAddress(list), p.offset));
      f.set(row, i32.add(to, p.rowBytes));
      copyRow(f, type, from, to, width, row);
      if (type === "f16") f.if(whole, () => splitRow(f, to, row));
      f.set(to, row);
      f.advance(list, addressBytes);
      f.advance(count, -1);
    });
  });
}

/** Whether rows of `width` elements are converted in whole steps. */
export function isWhole(type: CacheType, width: Pointer): Expr<"i32"> {
  return i32.eqz(i32.and(width, stepElements[type] - 1));
}
