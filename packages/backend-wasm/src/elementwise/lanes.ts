import type { DType } from "@centella/core";
import { isInteger } from "@centella/core/backend";
import { isHalf } from "@centella/quant";
import { type FunctionBuilder, f32x4, i8x16, i16x8, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { loadBfloats, loadHalves, toBfloats, toHalves } from "../formats/half.ts";

/**
 * The dtypes of expressions. Four elements are one vector of 32-bit lanes: floats as f32, integers as i32 (u32: the
 * same bits), bools as all ones or zeros.
 */
export const laneTypes: readonly DType[] = ["f32", "f16", "bf16", "i32", "u32", "i8", "u8", "bool"];

/** Bytes of an element in memory. */
export function bytesOf(dtype: DType): number {
  return dtype === "f32" || dtype === "i32" || dtype === "u32" ? 4 : isHalf(dtype) ? 2 : 1;
}

/** Whether lanes hold an f32. */
export function isFloat(dtype: DType): boolean {
  return !isInteger(dtype);
}

/** The lowest byte of each lane, in the first four bytes. */
const lowBytes = Uint8Array.of(0, 4, 8, 12, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);

/** Loads four elements. May read up to 16 bytes from `address`. */
export function loadLanes(f: FunctionBuilder, dtype: DType, address: Local<"i32">, offset = 0): Local<"v128"> {
  switch (dtype) {
    case "f16":
      return loadHalves(f, address, offset);
    case "bf16":
      return f.let(loadBfloats(address, offset));
    case "i8":
      return f.let(i32x4.extendLowS(i16x8.extendLowS(v128.load32Zero(address, offset))));
    case "u8":
      return f.let(i32x4.extendLowU(i16x8.extendLowU(v128.load32Zero(address, offset))));
    case "bool": {
      const bytes = i32x4.extendLowU(i16x8.extendLowU(v128.load32Zero(address, offset)));
      return f.let(i32x4.ne(bytes, v128.zero()));
    }
    default:
      return f.let(v128.load(address, offset));
  }
}

/** Loads one element to all lanes. */
export function splatLanes(f: FunctionBuilder, dtype: DType, address: Local<"i32">): Local<"v128"> {
  if (bytesOf(dtype) === 4) return f.let(v128.load32Splat(address));
  const lanes = loadLanes(f, dtype, address);
  return f.let(f32x4.shuffle(lanes, lanes, [0, 0, 0, 0]));
}

/** Lanes as stored bits: 32, 16 or 8 per lane, in the first `4 * bytesOf(dtype)` bytes. */
function pack(f: FunctionBuilder, dtype: DType, value: V128): Local<"v128"> {
  switch (dtype) {
    case "f16": {
      const halves = toHalves(f, value);
      return f.let(i16x8.narrowI32x4S(halves, halves));
    }
    case "bf16": {
      const bfloats = toBfloats(f, value);
      return f.let(i16x8.narrowI32x4S(bfloats, bfloats));
    }
    case "i8":
    case "u8":
      return f.let(i8x16.swizzle(value, f.pooled(lowBytes)));
    case "bool":
      return f.let(i8x16.swizzle(v128.and(value, f.splatBits(1)), f.pooled(lowBytes)));
    default:
      return f.let(value);
  }
}

/** Stores four elements. */
export function storeLanes(f: FunctionBuilder, dtype: DType, address: Local<"i32">, value: V128, offset = 0): void {
  const packed = pack(f, dtype, value);
  const size = bytesOf(dtype);
  if (size === 4) f.store(address, packed, offset);
  else if (size === 2) f.store64Lane(address, packed, 0, offset);
  else f.store32Lane(address, packed, 0, offset);
}

/** Stores the first `count` elements, all four if it is 4 or more. */
export function storeSome(f: FunctionBuilder, dtype: DType, address: Local<"i32">, value: V128, count: Local<"i32">): void {
  const packed = pack(f, dtype, value);
  const size = bytesOf(dtype);
  const storeOne = (lane: number): void => {
    if (size === 4) f.store32Lane(address, packed, lane, 4 * lane);
    else if (size === 2) f.store16Lane(address, packed, lane, 2 * lane);
    else f.store8Lane(address, packed, lane, lane);
  };
  f.if(
    i32.geU(count, 4),
    () => {
      if (size === 4) f.store(address, packed);
      else if (size === 2) f.store64Lane(address, packed, 0);
      else f.store32Lane(address, packed, 0);
    },
    () => {
      storeOne(0);
      for (let lane = 1; lane < 3; lane++) f.if(i32.gtU(count, lane), () => storeOne(lane));
    },
  );
}
