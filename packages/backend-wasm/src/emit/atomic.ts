import { i32Operand } from "./scalar.ts";
import { type Expr, expr, type I32, memoryImmediate } from "./values.ts";

const opcode = (op: number, align: number): number[] => [0xfe, op, ...memoryImmediate(align, 0)];

/** Instructions on memory that threads share, sequentially consistent. Unshared memory has them too, but for waiting. */
export const atomic: Readonly<{
  load: (address: I32) => Expr<"i32">;
  load64: (address: I32) => Expr<"i64">;
  /** An address: 8 bytes, of which a 32-bit memory takes 4. */
  loadAddress: (address: I32) => Expr<"i32">;
  /** Adds and gives what was there before. */
  add: (address: I32, by: I32) => Expr<"i32">;
  /** Writes `next` if `expected` is there, and gives what was there. */
  exchangeIf64: (address: I32, expected: Expr<"i64">, next: Expr<"i64">) => Expr<"i64">;
  /** Wakes up to `count` threads that wait at the address; gives how many. */
  notify: (address: I32, count: I32) => Expr<"i32">;
  /** Sleeps while `expected` is there, at most so many ns, or for ever if negative. 0: woken, 1: it was not there, 2: time is over. */
  wait: (address: I32, expected: I32, timeout: Expr<"i64">) => Expr<"i32">;
}> = {
  load: (address) => expr("i32", [i32Operand(address)], opcode(0x10, 2)),
  load64: (address) => expr("i64", [i32Operand(address)], opcode(0x11, 3)),
  loadAddress: (address) => ({ type: "i32", operands: [i32Operand(address)], code: opcode(0x10, 2), wideCode: opcode(0x11, 3) }),
  add: (address, by) => expr("i32", [i32Operand(address), i32Operand(by)], opcode(0x1e, 2)),
  exchangeIf64: (address, expected, next) => expr("i64", [i32Operand(address), expected, next], opcode(0x49, 3)),
  notify: (address, count) => expr("i32", [i32Operand(address), i32Operand(count)], opcode(0x00, 2)),
  wait: (address, expected, timeout) => expr("i32", [i32Operand(address), i32Operand(expected), timeout], opcode(0x01, 2)),
};

/** Opcodes of atomic stores, by type. */
export const atomicStore: Readonly<Record<"i32" | "i64", readonly number[]>> = { i32: opcode(0x17, 2), i64: opcode(0x18, 3) };
