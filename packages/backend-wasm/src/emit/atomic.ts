import { i32Operand } from "./scalar.ts";
import { type Code, type Expr, expr, type I32, memoryImmediate } from "./values.ts";

const opcode = (op: number, align: number): Code => [0xfe, op, ...memoryImmediate(align, 0)];

/** Sequentially consistent instructions on shared memory. Unshared memory supports them too, except waiting. */
export const atomic: Readonly<{
  load: (address: I32) => Expr<"i32">;
  load64: (address: I32) => Expr<"i64">;
  /** Loads an address: 8 bytes, of which a 32-bit memory uses 4. */
  loadAddress: (address: I32) => Expr<"i32">;
  /** Adds and returns the previous value. */
  add: (address: I32, by: I32) => Expr<"i32">;
  /** Writes `next` if the value is `expected`. Returns the previous value. */
  exchangeIf64: (address: I32, expected: Expr<"i64">, next: Expr<"i64">) => Expr<"i64">;
  /** Wakes up to `count` threads that wait at the address. Returns their number. */
  notify: (address: I32, count: I32) => Expr<"i32">;
  /**
   * Sleeps while the value is `expected`, at most the given ns (negative: no limit). Returns 0 if woken, 1 if the value
   * differed, 2 after a timeout.
   */
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
export const atomicStore: Readonly<Record<"i32" | "i64", Code>> = { i32: opcode(0x17, 2), i64: opcode(0x18, 3) };
