import { type FunctionBuilder, f32x4, type I32, i32, i32x4, type Local, type ModuleBuilder, type V128, v128 } from "../emit/index.ts";

/** Emits `halfTable(to)`, which stores the f32 of all 65,536 halves. */
export function emitHalfTable(module: ModuleBuilder): void {
  module.function("halfTable", { to: "i32" }, (f, { to }) => {
    const left = f.let(i32.const(65_536));
    // Each sign-extended.
    const halves = f.let(f.pooled(new Uint8Array(new Uint32Array([0, 1, 2, 3]).buffer)));
    f.while(left, () => {
      f.store(to, widenHalves(f, i32x4.shrS(i32x4.shl(halves, 16), 16)));
      f.set(halves, i32x4.add(halves, i32x4.splat(i32.const(4))));
      f.advance(to, 16);
      f.advance(left, -4);
    });
  });
}

/** Loads four halves as f32; exact, including infinities and NaN. */
export function loadHalves(f: FunctionBuilder, address: I32, offset = 0): Local<"v128"> {
  return widenHalves(f, v128.load16x4S(address, offset));
}

/** Loads four finite halves as f32. */
export function loadFiniteHalves(f: FunctionBuilder, address: I32, offset = 0): Local<"v128"> {
  return f.let(f32x4.mul(shiftedHalves(f, v128.load16x4S(address, offset)), f.splat(2 ** 112)));
}

/** Sign, exponent and mantissa of halves at their positions in an f32, with the exponent off by 112. */
function shiftedHalves(f: FunctionBuilder, halves: V128): V128 {
  return v128.and(i32x4.shl(halves, 13), f.splatBits(0x8fffe000));
}

/** Widens four halves, each sign-extended in an i32 lane, to f32. */
export function widenHalves(f: FunctionBuilder, halves: V128): Local<"v128"> {
  const bits = f.let(shiftedHalves(f, halves));
  const special = i32x4.eq(v128.and(bits, f.splatBits(0x0f800000)), f.splatBits(0x0f800000));
  return f.let(v128.or(f32x4.mul(bits, f.splat(2 ** 112)), v128.and(special, f.splatBits(0x7f800000))));
}

/** Loads four bfloats as f32. */
export function loadBfloats(address: I32, offset = 0): V128 {
  return i32x4.shl(v128.load16x4U(address, offset), 16);
}

/** Rounds four f32 to halves, ties to even, each sign-extended in an i32 lane. */
export function toHalves(f: FunctionBuilder, x: V128): Local<"v128"> {
  const bits = f.let(x);
  const magnitude = f.let(v128.and(bits, f.splatBits(0x7fffffff)));
  const odd = v128.and(i32x4.shrU(magnitude, 13), f.splatBits(1));
  const rounded = i32x4.add(i32x4.add(magnitude, f.splatBits(0xc8000fff)), odd);
  const half = f.let(i32x4.shrU(rounded, 13));
  // Below 2^-14 halves are 2^-24 apart, like f32 from 0.5 to 1: adding 0.5 rounds there.
  const subnormal = i32x4.sub(f32x4.add(magnitude, f.splat(0.5)), f.splatBits(0x3f000000));
  f.set(half, v128.bitselect(i32x4.gtS(f.splatBits(0x38800000), magnitude), subnormal, half));
  f.set(half, v128.bitselect(i32x4.geS(magnitude, f.splatBits(0x477ff000)), f.splatBits(0x7c00), half));
  f.set(half, v128.bitselect(i32x4.gtS(magnitude, f.splatBits(0x7f800000)), f.splatBits(0x7e00), half));
  f.set(half, v128.or(half, v128.and(i32x4.shrS(bits, 16), f.splatBits(0xffff8000))));
  return half;
}

/** Rounds four f32 to bfloats, ties to even, NaN quiet, each sign-extended in an i32 lane. */
export function toBfloats(f: FunctionBuilder, x: V128): Local<"v128"> {
  const bits = f.let(x);
  const odd = v128.and(i32x4.shrU(bits, 16), f.splatBits(1));
  const rounded = i32x4.shrS(i32x4.add(i32x4.add(bits, f.splatBits(0x7fff)), odd), 16);
  const quiet = v128.or(i32x4.shrS(bits, 16), f.splatBits(0x40));
  return f.let(v128.bitselect(f32x4.eq(bits, bits), rounded, quiet));
}
