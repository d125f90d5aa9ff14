import { i32Operand } from "./scalar.ts";
import { coded, type Expr, expr, type I32, memoryAccess, memoryImmediate, simdOpcode, type V128, type ValueType } from "./values.ts";

type V1 = (a: V128) => V128;
type V2 = (a: V128, b: V128) => V128;
type V3 = (a: V128, b: V128, c: V128) => V128;
type Shift = (a: V128, bits: I32) => V128;
type Load = (address: I32, offset?: number) => V128;
type LoadLane = (address: I32, into: V128, lane: number, offset?: number) => V128;
type Extract<T extends ValueType> = (a: V128, lane: number) => Expr<T>;
type Splat<T extends ValueType> = (a: Expr<T>) => V128;
type Test = (a: V128) => Expr<"i32">;

const op1 = (op: number): V1 => {
  const code = simdOpcode(op);
  return (a) => expr("v128", [a], code);
};
const op2 = (op: number): V2 => {
  const code = simdOpcode(op);
  return (a, b) => expr("v128", [a, b], code);
};
const op3 = (op: number): V3 => {
  const code = simdOpcode(op);
  return (a, b, c) => expr("v128", [a, b, c], code);
};
const shift = (op: number): Shift => {
  const code = simdOpcode(op);
  return (a, bits) => expr("v128", [a, i32Operand(bits)], code);
};
const load = (op: number): Load => {
  const code = memoryAccess(...simdOpcode(op));
  return (address, offset = 0) => expr("v128", [i32Operand(address)], code(offset));
};
const loadLane =
  (op: number): LoadLane =>
  (address, into, lane, offset = 0) =>
    expr("v128", [i32Operand(address), into], [...simdOpcode(op), ...memoryImmediate(0, offset), lane]);
const extract = <T extends ValueType>(type: T, op: number): Extract<T> => {
  const code = coded((lane) => [...simdOpcode(op), lane]);
  return (a, lane) => expr(type, [a], code(lane));
};
const splat = <T extends ValueType>(op: number): Splat<T> => {
  const code = simdOpcode(op);
  return (a) => expr("v128", [a], code);
};
const test = (op: number): Test => {
  const code = simdOpcode(op);
  return (a) => expr("i32", [a], code);
};

const zero: V128 = { type: "v128", code: [...simdOpcode(12), ...new Uint8Array(16)] };

/** Whole-vector instructions: loads, bits, shuffles. */
export const v128: Readonly<
  Record<"and" | "andnot" | "or" | "xor", V2> &
    Record<
      | "load"
      | "load8x8S"
      | "load8x8U"
      | "load16x4S"
      | "load16x4U"
      | "load8Splat"
      | "load16Splat"
      | "load32Splat"
      | "load64Splat"
      | "load32Zero"
      | "load64Zero",
      Load
    > & {
      not: V1;
      anyTrue: Test;
      /** Bits of `yes` where `mask` is 1, of `no` elsewhere. */
      bitselect: (mask: V128, yes: V128, no: V128) => V128;
      zero: () => V128;
      /** `into` with its 32-bit lane `lane` loaded from memory. */
      load32Lane: LoadLane;
      /** `into` with its 16-bit lane `lane` loaded from memory. */
      load16Lane: LoadLane;
      /** `into` with its 8-bit lane `lane` loaded from memory. */
      load8Lane: LoadLane;
    }
> = {
  and: op2(78),
  andnot: op2(79),
  or: op2(80),
  xor: op2(81),
  not: op1(77),
  anyTrue: test(83),
  bitselect: (mask, yes, no) => op3(82)(yes, no, mask),
  zero: () => zero,
  load: load(0),
  load8x8S: load(1),
  load8x8U: load(2),
  load16x4S: load(3),
  load16x4U: load(4),
  load8Splat: load(7),
  load16Splat: load(8),
  load32Splat: load(9),
  load64Splat: load(10),
  load32Zero: load(92),
  load64Zero: load(93),
  load32Lane: loadLane(86),
  load16Lane: loadLane(85),
  load8Lane: loadLane(84),
};

/** 16 × i8. */
export const i8x16: Readonly<
  Record<"add" | "sub" | "maxS" | "eq" | "narrowI16x8S" | "narrowI16x8U" | "swizzle", V2> & {
    splat: Splat<"i32">;
    shuffle: (a: V128, b: V128, lanes: readonly number[]) => V128;
  }
> = {
  splat: splat(15),
  add: op2(110),
  sub: op2(113),
  maxS: op2(120),
  eq: op2(35),
  narrowI16x8S: op2(101),
  narrowI16x8U: op2(102),
  swizzle: op2(14),
  shuffle: (a, b, lanes) => expr("v128", [a, b], [...simdOpcode(13), ...lanes]),
};

/** 8 × i16. */
export const i16x8: Readonly<
  Record<"add" | "sub" | "mul" | "maxS" | "maxU" | "gtS" | "narrowI32x4S", V2> &
    Record<"extendLowS" | "extendHighS" | "extendLowU" | "extendHighU" | "extaddPairwiseS", V1> &
    Record<"shl" | "shrS" | "shrU", Shift> & { splat: Splat<"i32"> }
> = {
  splat: splat(16),
  add: op2(142),
  sub: op2(145),
  mul: op2(149),
  maxS: op2(152),
  maxU: op2(153),
  gtS: op2(49),
  narrowI32x4S: op2(133),
  extendLowS: op1(135),
  extendHighS: op1(136),
  extendLowU: op1(137),
  extendHighU: op1(138),
  extaddPairwiseS: op1(124),
  shl: shift(139),
  shrS: shift(140),
  shrU: shift(141),
};

/** 4 × i32. */
export const i32x4: Readonly<
  Record<"add" | "sub" | "mul" | "minS" | "minU" | "maxS" | "maxU" | "eq" | "ne" | "gtS" | "geS" | "gtU" | "geU" | "dotI16x8", V2> &
    Record<"extendLowS" | "extendHighS" | "extendLowU" | "extendHighU" | "extaddPairwiseS" | "neg" | "abs", V1> &
    /** Saturating; NaN becomes 0. Conversions of two f64 zero the upper lanes. */
    Record<"truncSatF32x4S" | "truncSatF32x4U" | "truncSatF64x2S", V1> &
    Record<"shl" | "shrS" | "shrU", Shift> & {
      splat: Splat<"i32">;
      extract: Extract<"i32">;
      bitmask: Test;
      replace: (a: V128, lane: number, value: I32) => V128;
    }
> = {
  splat: splat(17),
  extract: extract("i32", 27),
  bitmask: test(164),
  replace: (a, lane, value) => expr("v128", [a, i32Operand(value)], [...simdOpcode(28), lane]),
  add: op2(174),
  sub: op2(177),
  mul: op2(181),
  minS: op2(182),
  maxS: op2(184),
  minU: op2(183),
  maxU: op2(185),
  eq: op2(55),
  ne: op2(56),
  gtS: op2(59),
  geS: op2(63),
  gtU: op2(60),
  geU: op2(64),
  dotI16x8: op2(186),
  extendLowS: op1(167),
  extendHighS: op1(168),
  extendLowU: op1(169),
  extendHighU: op1(170),
  extaddPairwiseS: op1(126),
  neg: op1(161),
  abs: op1(160),
  truncSatF32x4S: op1(248),
  truncSatF32x4U: op1(249),
  truncSatF64x2S: op1(252),
  shl: shift(171),
  shrS: shift(172),
  shrU: shift(173),
};

/**
 * 4 × f32. `pmin(a, b)` is `b < a ? b : a` and `pmax(a, b)` is `a < b ? b : a`, in one instruction each. They keep a
 * NaN in `a`.
 */
export const f32x4: Readonly<
  Record<"add" | "sub" | "mul" | "div" | "min" | "max" | "pmin" | "pmax" | "eq" | "ne" | "lt" | "gt" | "le" | "ge", V2> &
    Record<"abs" | "neg" | "sqrt" | "ceil" | "floor" | "trunc" | "nearest" | "fromI32x4" | "fromU32x4" | "demoteF64x2", V1> & {
      splat: Splat<"f32">;
      extract: Extract<"f32">;
      /** Lanes picked from `a` (0-3) and `b` (4-7). */
      shuffle: (a: V128, b: V128, lanes: readonly [number, number, number, number]) => V128;
    }
> = {
  splat: splat(19),
  extract: extract("f32", 31),
  add: op2(228),
  sub: op2(229),
  mul: op2(230),
  div: op2(231),
  min: op2(232),
  max: op2(233),
  pmin: op2(234),
  pmax: op2(235),
  eq: op2(65),
  ne: op2(66),
  lt: op2(67),
  gt: op2(68),
  le: op2(69),
  ge: op2(70),
  abs: op1(224),
  neg: op1(225),
  sqrt: op1(227),
  ceil: op1(103),
  floor: op1(104),
  trunc: op1(105),
  nearest: op1(106),
  fromI32x4: op1(250),
  fromU32x4: op1(251),
  demoteF64x2: op1(94),
  shuffle: (a, b, lanes) =>
    i8x16.shuffle(
      a,
      b,
      lanes.flatMap((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3]),
    ),
};

/** 2 × f64. */
export const f64x2: Readonly<
  Record<"add" | "sub" | "mul" | "div" | "min" | "max" | "eq" | "lt" | "gt", V2> &
    Record<"abs" | "neg" | "sqrt" | "nearest" | "promoteLowF32x4" | "convertLowI32x4S" | "convertLowI32x4U", V1> & {
      splat: Splat<"f64">;
      extract: Extract<"f64">;
    }
> = {
  splat: splat(20),
  extract: extract("f64", 33),
  add: op2(240),
  sub: op2(241),
  mul: op2(242),
  div: op2(243),
  min: op2(244),
  max: op2(245),
  eq: op2(71),
  lt: op2(73),
  gt: op2(74),
  abs: op1(236),
  neg: op1(237),
  sqrt: op1(239),
  nearest: op1(148),
  convertLowI32x4S: op1(254),
  convertLowI32x4U: op1(255),
  promoteLowF32x4: op1(95),
};

/** 2 × i64. `extmul` multiplies the lower or upper two 32-bit lanes of two vectors. */
export const i64x2: Readonly<
  Record<"add" | "sub" | "extmulLowU" | "extmulHighU", V2> & Record<"extendLowS", V1> & Record<"shl" | "shrS" | "shrU", Shift>
> = {
  add: op2(206),
  sub: op2(209),
  extmulLowU: op2(222),
  extmulHighU: op2(223),
  extendLowS: op1(199),
  shl: shift(203),
  shrS: shift(204),
  shrU: shift(205),
};

/** Relaxed SIMD. */
export const relaxed: Readonly<{
  /** `a * b + c`, fused or not. */
  madd: V3;
  /** `c[i] + Σ a[4i+j] * b[4i+j]` with signed a and b from 0 to 127: exact in that range. */
  dotI8x16I7x16Add: V3;
  /** `a[2i] * b[2i] + a[2i+1] * b[2i+1]` in eight i16, with signed a and b from 0 to 127: exact in that range. */
  dotI8x16I7x16: V2;
  /** `a[b[i]]` for b from 0 to 15. */
  swizzle: V2;
}> = { madd: op3(0x105), dotI8x16I7x16Add: op3(0x113), dotI8x16I7x16: op2(0x112), swizzle: op2(0x100) };
