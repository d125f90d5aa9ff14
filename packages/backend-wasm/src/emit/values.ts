/** WASM value types that kernels use. */
export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128";

/** Binary code of each {@link ValueType}. */
export const valueTypeCode: Readonly<Record<ValueType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b };

/** An instruction: a statement, or what leaves a value. */
export interface Instruction {
  /** What is left on the stack before `code` runs, in order. */
  readonly operands?: readonly Expr[];
  readonly code: readonly number[];
  /** The code where an address is 64 bits wide, of what moves one to or from memory. */
  readonly wideCode?: readonly number[];
  /** The local that it reads or writes. */
  readonly index?: number;
  /** The number that it is. */
  readonly constant?: number;
  /** Types of the parameters of the function that it calls. */
  readonly params?: readonly ValueType[];
}

/** A computation that leaves one value of type `T` on the stack. Its code runs where a statement uses it, as often as it is used. */
export interface Expr<T extends ValueType = ValueType> extends Instruction {
  readonly type: T;
}

/** A parameter or local variable; as an expression it reads the variable. */
export interface Local<T extends ValueType = ValueType> extends Expr<T> {
  readonly index: number;
}

/** An i32 operand; numbers stand for constants. */
export type I32 = Expr<"i32"> | number;

/** A vector operand. */
export type V128 = Expr<"v128">;

/** Codes that are a function of a number. Small ones recur in every function, and are made once. */
export function coded(code: (n: number) => readonly number[]): (n: number) => readonly number[] {
  const known = new Map<number, readonly number[]>();
  return (n) => {
    let found = known.get(n);
    if (found === undefined) {
      found = code(n);
      if (n < maxKnown) known.set(n, found);
    }
    return found;
  };
}

/** Larger numbers are addresses and seldom the same. */
const maxKnown = 4096;

/** Unsigned LEB128 of `n`, 0 ≤ n < 2^32. */
export const unsignedLeb: (n: number) => readonly number[] = coded((n) => {
  const bytes: number[] = [];
  n >>>= 0;
  do {
    const low = n & 127;
    n >>>= 7;
    bytes.push(n === 0 ? low : low | 128);
  } while (n !== 0);
  return bytes;
});

/** Signed LEB128 of an integer. */
export function signedLeb(n: number): number[] {
  const bytes: number[] = [];
  for (;;) {
    const low = n & 127;
    n = Math.floor(n / 128);
    if ((n === 0 && (low & 64) === 0) || (n === -1 && (low & 64) !== 0)) {
      bytes.push(low);
      return bytes;
    }
    bytes.push(low | 128);
  }
}

/** An expression of `type`: the operands in order, then `opcode` with its immediates. */
export function expr<T extends ValueType>(type: T, operands: readonly Expr[], opcode: readonly number[]): Expr<T> {
  return { type, operands, code: opcode };
}

/** Bytes of an instruction of the SIMD opcode space. */
export function simdOpcode(op: number): number[] {
  return [0xfd, ...unsignedLeb(op)];
}

/** Immediates of a memory access: alignment 2^`align`, constant offset. */
export function memoryImmediate(align: number, offset: number): number[] {
  return [align, ...unsignedLeb(offset)];
}

/** An instruction that accesses memory, unaligned, by its constant offset. */
export function memoryAccess(...opcode: readonly number[]): (offset: number) => readonly number[] {
  return coded((offset) => [...opcode, ...memoryImmediate(0, offset)]);
}
