/** WASM value types. */
export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128";

/** Binary code of each {@link ValueType}. */
export const valueTypeCode: Readonly<Record<ValueType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b };

/** Bytes of code, at least one: for an instruction its opcode and immediates. */
export type Code = readonly [number, ...number[]];

/** An instruction: a statement, or one that leaves a value. */
export interface Instruction {
  /** Operands, pushed in order before `code` runs. */
  readonly operands?: readonly Expr[];
  readonly code: Code;
  /** The code of a memory access with 64-bit addresses. */
  readonly wideCode?: Code;
  /** Index of the local that is read or written. */
  readonly index?: number;
  /** Value of a constant. */
  readonly constant?: number;
  /** Parameter types of the called function. */
  readonly params?: readonly ValueType[];
}

/** An expression that leaves one value of type `T` on the stack. It is evaluated at every use. */
export interface Expr<T extends ValueType = ValueType> extends Instruction {
  readonly type: T;
}

/** A parameter or local variable. As an expression it reads the variable. */
export interface Local<T extends ValueType = ValueType> extends Expr<T> {
  readonly index: number;
}

/** An i32 operand; numbers stand for constants. */
export type I32 = Expr<"i32"> | number;

/** A vector operand. */
export type V128 = Expr<"v128">;

/** Code that depends on a number. Small numbers recur in every function, so their code is cached. */
export function coded(code: (n: number) => Code): (n: number) => Code {
  const known = new Map<number, Code>();
  return (n) => {
    let found = known.get(n);
    if (found === undefined) {
      found = code(n);
      if (n < maxKnown) known.set(n, found);
    }
    return found;
  };
}

/** Larger numbers are addresses, which rarely repeat. */
const maxKnown = 4096;

/** Unsigned LEB128 of `n`, 0 ≤ n < 2^32. */
export const unsignedLeb: (n: number) => Code = coded((n) => {
  n >>>= 0;
  return n < 128 ? [n] : [(n & 127) | 128, ...unsignedLeb(n >>> 7)];
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
export function expr<T extends ValueType>(type: T, operands: readonly Expr[], opcode: Code): Expr<T> {
  return { type, operands, code: opcode };
}

/** Bytes of a SIMD opcode. */
export function simdOpcode(op: number): Code {
  return [0xfd, ...unsignedLeb(op)];
}

/** Immediates of a memory access: alignment 2^`align` and a constant offset. */
export function memoryImmediate(align: number, offset: number): number[] {
  return [align, ...unsignedLeb(offset)];
}

/** An unaligned memory access with a constant offset. */
export function memoryAccess(...opcode: Code): (offset: number) => Code {
  return coded((offset) => [...opcode, ...memoryImmediate(0, offset)]);
}
