declare const brand: unique symbol;

/** Types of a kernel's values. */
export type ValueType = "f32" | "i32" | "u32" | "bool";

/**
 * A value of a kernel that is being written: its name in the text, branded with its type. It never changes. Backends have further types,
 * such as addresses.
 */
export type Value<T extends string = ValueType> = string & { readonly [brand]: T };

/** A value of type f32. */
export type F32 = Value<"f32">;
/** A value of type i32. */
export type I32 = Value<"i32">;
/** A value of type u32. */
export type U32 = Value<"u32">;
/** A truth value. */
export type Bool = Value<"bool">;

/** Types that arithmetic is done in. */
export type NumberType = "f32" | "i32" | "u32";

/** A variable. Values that were read from it earlier do not change. */
export interface Variable<T extends NumberType> {
  get(): Value<T>;
  set(value: Value<T> | number): void;
}

/** Memory that the lanes of a group share. A lane may read another lane's writes after {@link Emitter.sync}. */
export interface SharedArray<T extends NumberType> {
  get(index: U32 | number): Value<T>;
  set(index: U32 | number, value: Value<T>): void;
}

/** Numbers that the lanes of a group add to. They are 0 after {@link clear}. */
export interface SharedCounters {
  /** Waits for every lane of the group, before and after. */
  clear(): void;
  /** Adds to a number and returns it as it was before. The order of the lanes is open. */
  add(index: U32 | number, value: U32 | number): U32;
  /** A number. Lanes may read it after {@link Emitter.sync}. */
  get(index: U32 | number): U32;
}

/** One value of each type. */
export type Values<T extends readonly NumberType[]> = { readonly [I in keyof T]: Value<T[I]> };

/** Combines one value per lane, or a tuple of values, over the lanes of a group. Every lane receives the result. */
export type Reducer<T extends readonly NumberType[]> = (values: Values<T>, combine: (a: Values<T>, b: Values<T>) => Values<T>) => Values<T>;

/** Reads a block of a quantised tensor. */
export interface BlockBytes {
  byte(at: U32 | number): U32;
  /** The f16 at an even number of bytes. */
  half(at: number): F32;
}

/** Number of consecutive elements in {@link Emitter.neighbours}. */
export const neighbourCount = 4;

/** Comparison operator. */
export type Comparison = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

/**
 * Writes a kernel's body: one instruction per method, and structured control flow. Backends turn the calls into WGSL or PTX. A number is a
 * constant of the other operand's type.
 */
export interface Emitter {
  constant<T extends NumberType>(type: T, value: number): Value<T>;
  variable<T extends NumberType>(type: T, initial: Value<T> | number): Variable<T>;

  /** Integers wrap. */
  add<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T>;
  sub<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T>;
  mul<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T>;
  /** `a / b`, within 2.5 ulp. */
  div(a: F32, b: F32 | number): F32;
  /** `a / b`, correctly rounded where operands and result are normal numbers. */
  divRounded(a: F32, b: F32 | number): F32;
  /** `a * b`, rounded to f32 also where it is added to something: compilers may otherwise compute {@link fma} of a product and a sum. */
  mulRounded(a: F32, b: F32 | number): F32;
  /** `a * b + c`; the product may be rounded. */
  fma(a: F32, b: F32 | number, c: F32 | number): F32;
  /** `floor(a / b)`; undefined for a zero divisor, without a trap. */
  quotient(a: U32, b: U32 | number): U32;
  remainder(a: U32, b: U32 | number): U32;
  /** High word of the 64-bit product. */
  multiplyHigh(a: U32, b: U32 | number): U32;
  /**
   * Fraction of `(whole + high 2^-32 + low 2^-64) / by` as two 32-bit words, high word first, within 2^-50. `by` must be finite, with a
   * magnitude of at least 2^-20.
   */
  divideFixed(dividend: readonly [whole: U32, high: U32, low: U32], by: F32): readonly [high: U32, low: U32];
  /** f32 operands may not be NaN. */
  min<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T>;
  max<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T>;
  /** The larger operand, NaN if either is NaN. Denormals count. */
  maximum(a: F32, b: F32 | number): F32;
  /** The smaller operand, NaN if either is NaN. Denormals count. */
  minimum(a: F32, b: F32 | number): F32;
  neg<T extends "f32" | "i32">(a: Value<T>): Value<T>;
  abs(a: F32): F32;
  /** NaN below 0. */
  sqrt(a: F32): F32;
  floor(a: F32): F32;
  ceil(a: F32): F32;
  /** Rounds to the nearest whole number, ties to even. */
  round(a: F32): F32;
  trunc(a: F32): F32;
  exp(a: F32): F32;
  /** Natural logarithm: -Infinity of 0, NaN below it; absolute error of 5e-7 near 1. */
  log(a: F32): F32;

  and(a: U32, b: U32 | number): U32;
  or(a: U32, b: U32 | number): U32;
  xor(a: U32, b: U32 | number): U32;
  /** `bits` is below 32. */
  shiftLeft(a: U32, bits: U32 | number): U32;
  shiftRight(a: U32, bits: U32 | number): U32;

  both(a: Bool, b: Bool): Bool;
  either(a: Bool, b: Bool): Bool;
  not(a: Bool): Bool;
  /** `condition ? a : b` */
  select<T extends NumberType>(condition: Bool, a: Value<T>, b: Value<NoInfer<T>> | number): Value<T>;
  /** Comparisons with NaN are false, except "ne". Infinities and denormals compare as IEEE 754 says. */
  compare<T extends NumberType>(comparison: Comparison, a: Value<T>, b: Value<NoInfer<T>> | number): Bool;
  isNaN(a: F32): Bool;

  /** The same 32 bits as another type. */
  bitcast<T extends NumberType>(type: T, a: Value<NumberType>): Value<T>;
  /** Rounds to the nearest f32; to integers toward zero, saturating. NaN becomes 0. */
  convert(type: "f32", a: I32 | U32): F32;
  convert<T extends "i32" | "u32">(type: T, a: F32): Value<T>;
  /** Bits of the nearest f16, ties to even. */
  toHalf(a: F32): U32;
  /** Value of the f16 with these bits. */
  fromHalf(bits: U32): F32;

  /** Element `index` of an argument of a float dtype or a block type, as f32. */
  load(name: string, index: U32 | number): F32;
  /** Four elements from `index` on, which is a multiple of 4. Shared data, such as a block's scale, is read once. */
  loadVector(name: string, index: U32 | number): readonly F32[];
  /** Block `index` of an argument of a block type with blocks of `bytes` each. */
  blockAt(name: string, index: U32, bytes: number): BlockBytes;
  /** `values[index]` from a table of sixteen whole numbers from -128 to 127. */
  lookUp(values: readonly number[], index: U32): F32;
  /** Element `index` of an i32 argument. */
  loadInteger(name: string, index: U32 | number): I32;
  /** Bits of element `index` of an argument of any plain dtype, zero-extended to 32. */
  loadBits(name: string, index: U32 | number): U32;
  /** Writes an element of an argument with 32-bit elements. Two lanes never write the same element. */
  store(name: string, index: U32 | number, value: Value<NumberType>): void;

  /** The four words of piece `index` of 16 bytes of an argument of a plain dtype, read at once. */
  loadPiece(name: string, index: U32 | number): readonly U32[];
  /** Writes piece `index` of an argument at once. */
  storePiece(name: string, index: U32 | number, words: readonly U32[]): void;

  /** Writes 16 bits of an argument; another lane may write the other half of the word. All stores to the argument must use this method. */
  storeHalf(name: string, index: U32 | number, bits: U32): void;

  /**
   * Calls `body` for {@link neighbourCount} places after each of `firsts`, which are multiples of it. Elements that it reads or stores at these
   * indices, outside of control flow, are read and stored at once.
   */
  neighbours(firsts: readonly U32[], body: (indices: readonly U32[]) => void): void;

  shared<T extends NumberType>(type: T, count: number): SharedArray<T>;
  sharedCounters(count: number): SharedCounters;
  /** Waits for every lane of the group. Not allowed in control flow in which lanes may diverge. */
  sync(): void;
  /** Number of the lane in its group. */
  lane(): U32;
  /** Lanes of a group. */
  readonly lanes: number;
  /**
   * A reduction that can be used several times in one kernel, by all lanes of a group at once. `combine` must be associative and
   * commutative, up to rounding; the order is fixed, so results repeat.
   */
  reducer<const T extends readonly NumberType[]>(types: T): Reducer<T>;

  if(condition: Bool, then: () => void, otherwise?: () => void): void;
  /** Like {@link if}, for a condition that is the same in all lanes of a group, so `sync()` is allowed inside. */
  ifUniform(condition: Bool, then: () => void, otherwise?: () => void): void;
  /** `for (i = from; i < to; i += step)`; lanes may diverge. */
  for(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void;
  /** `while (test) body`; lanes may diverge. */
  while(test: () => Bool, body: () => void): void;
  /** Like {@link for}, with the same bounds in all lanes of a group, so `sync()` is allowed inside. */
  forUniform(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void;
}
