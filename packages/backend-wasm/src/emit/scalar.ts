import { type Code, coded, type Expr, expr, type I32, memoryAccess, memoryImmediate, signedLeb, type ValueType } from "./values.ts";

type Binary<T extends ValueType, R extends ValueType = T> = (a: Expr<T>, b: Expr<T>) => Expr<R>;
type Unary<T extends ValueType, R extends ValueType = T> = (a: Expr<T>) => Expr<R>;
type BinaryI32 = (a: I32, b: I32) => Expr<"i32">;
type Load<T extends ValueType> = (address: I32, offset?: number) => Expr<T>;

/** A constant, or the expression itself. */
export function i32Operand(value: I32): Expr<"i32"> {
  return typeof value === "number" ? { type: "i32", code: i32Const(value), constant: value } : value;
}

const i32Const = coded((n) => [0x41, ...signedLeb(n | 0)]);

function binaryI32(opcode: number): BinaryI32 {
  const code: Code = [opcode];
  return (a, b) => expr("i32", [i32Operand(a), i32Operand(b)], code);
}

function binary<T extends ValueType, R extends ValueType>(result: R, opcode: number): Binary<T, R> {
  const code: Code = [opcode];
  return (a, b) => expr(result, [a, b], code);
}

function unary<T extends ValueType, R extends ValueType>(result: R, ...opcode: Code): Unary<T, R> {
  return (a) => expr(result, [a], opcode);
}

/** Loads an address that `FunctionBuilder.storeAddress` stored. */
function loadAddress(address: I32, offset = 0): Expr<"i32"> {
  const immediates = memoryImmediate(0, offset);
  return { type: "i32", operands: [i32Operand(address)], code: [0x28, ...immediates], wideCode: [0x29, ...immediates] };
}

function load<T extends ValueType>(type: T, opcode: number): Load<T> {
  const code = memoryAccess(opcode);
  return (address, offset = 0) => expr(type, [i32Operand(address)], code(offset));
}

/** i32 instructions. Addresses are unsigned i32: compare them with the `U` forms, and load them with `loadAddress`. */
export const i32: Readonly<
  Record<
    | "add"
    | "sub"
    | "mul"
    | "divU"
    | "remU"
    | "and"
    | "or"
    | "xor"
    | "shl"
    | "shrS"
    | "shrU"
    | "eq"
    | "ne"
    | "ltS"
    | "ltU"
    | "gtS"
    | "gtU"
    | "leS"
    | "leU"
    | "geS"
    | "geU",
    BinaryI32
  > & {
    const: (n: number) => Expr<"i32">;
    eqz: Unary<"i32">;
    ctz: Unary<"i32">;
    reinterpret: Unary<"f32", "i32">;
    wrap: Unary<"i64", "i32">;
    /** Rounds towards zero and saturates. */
    truncF64: Unary<"f64", "i32">;
    /** Unsigned; rounds towards zero and saturates. */
    truncF64U: Unary<"f64", "i32">;
    load: Load<"i32">;
    load8S: Load<"i32">;
    load8U: Load<"i32">;
    load16S: Load<"i32">;
    load16U: Load<"i32">;
    loadAddress: Load<"i32">;
    select: (condition: I32, yes: I32, no: I32) => Expr<"i32">;
  }
> = {
  const: (n) => i32Operand(n),
  add: binaryI32(0x6a),
  sub: binaryI32(0x6b),
  mul: binaryI32(0x6c),
  divU: binaryI32(0x6e),
  remU: binaryI32(0x70),
  and: binaryI32(0x71),
  or: binaryI32(0x72),
  xor: binaryI32(0x73),
  shl: binaryI32(0x74),
  shrS: binaryI32(0x75),
  shrU: binaryI32(0x76),
  eq: binaryI32(0x46),
  ne: binaryI32(0x47),
  ltS: binaryI32(0x48),
  ltU: binaryI32(0x49),
  gtS: binaryI32(0x4a),
  gtU: binaryI32(0x4b),
  leS: binaryI32(0x4c),
  leU: binaryI32(0x4d),
  geS: binaryI32(0x4e),
  geU: binaryI32(0x4f),
  eqz: unary("i32", 0x45),
  ctz: unary("i32", 0x68),
  reinterpret: unary("i32", 0xbc),
  wrap: unary("i32", 0xa7),
  truncF64: unary("i32", 0xfc, 2),
  truncF64U: unary("i32", 0xfc, 3),
  load: load("i32", 0x28),
  load8S: load("i32", 0x2c),
  load8U: load("i32", 0x2d),
  load16S: load("i32", 0x2e),
  load16U: load("i32", 0x2f),
  loadAddress,
  select: (condition, yes, no) => expr("i32", [i32Operand(yes), i32Operand(no), i32Operand(condition)], [0x1b]),
};

/** i64 instructions that threads and sampling need. */
export const i64: Readonly<
  Record<"add" | "sub" | "mul" | "shl" | "shrU" | "or", Binary<"i64">> &
    Record<"ne" | "gtU" | "geU", Binary<"i64", "i32">> & {
      const: (n: number) => Expr<"i64">;
      fromI32S: Unary<"i32", "i64">;
      fromI32U: Unary<"i32", "i64">;
    }
> = {
  const: (n) => ({ type: "i64", code: [0x42, ...signedLeb(n)] }),
  add: binary("i64", 0x7c),
  sub: binary("i64", 0x7d),
  mul: binary("i64", 0x7e),
  or: binary("i64", 0x84),
  shl: binary("i64", 0x86),
  shrU: binary("i64", 0x88),
  fromI32S: unary("i64", 0xac),
  fromI32U: unary("i64", 0xad),
  ne: binary("i32", 0x52),
  gtU: binary("i32", 0x56),
  geU: binary("i32", 0x5a),
};

function floatConst<T extends "f32" | "f64">(type: T, opcode: number, bytes: 4 | 8): (x: number) => Expr<T> {
  return (x) => {
    const view = new DataView(new ArrayBuffer(bytes));
    if (bytes === 4) view.setFloat32(0, x, true);
    else view.setFloat64(0, x, true);
    return { type, code: [opcode, ...new Uint8Array(view.buffer)] };
  };
}

/** f32 instructions. */
export const f32: Readonly<
  Record<"add" | "sub" | "mul" | "div" | "min" | "max", Binary<"f32">> &
    Record<"eq" | "ne" | "lt" | "gt" | "le" | "ge", Binary<"f32", "i32">> & {
      const: (x: number) => Expr<"f32">;
      sqrt: Unary<"f32">;
      neg: Unary<"f32">;
      fromI32: (a: I32) => Expr<"f32">;
      fromF64: Unary<"f64", "f32">;
      reinterpret: Unary<"i32", "f32">;
      load: Load<"f32">;
    }
> = {
  const: floatConst("f32", 0x43, 4),
  add: binary("f32", 0x92),
  sub: binary("f32", 0x93),
  mul: binary("f32", 0x94),
  div: binary("f32", 0x95),
  min: binary("f32", 0x96),
  max: binary("f32", 0x97),
  eq: binary("i32", 0x5b),
  ne: binary("i32", 0x5c),
  lt: binary("i32", 0x5d),
  gt: binary("i32", 0x5e),
  le: binary("i32", 0x5f),
  ge: binary("i32", 0x60),
  sqrt: unary("f32", 0x91),
  neg: unary("f32", 0x8c),
  fromI32: (a) => expr("f32", [i32Operand(a)], [0xb2]),
  fromF64: unary("f32", 0xb6),
  reinterpret: unary("f32", 0xbe),
  load: load("f32", 0x2a),
};

/** f64 instructions that accumulators need. */
export const f64: Readonly<
  Record<"add" | "sub" | "mul" | "div", Binary<"f64">> &
    Record<"lt" | "ge", Binary<"f64", "i32">> & {
      const: (x: number) => Expr<"f64">;
      sqrt: Unary<"f64">;
      fromF32: Unary<"f32", "f64">;
      fromI32: (a: I32) => Expr<"f64">;
      reinterpret: Unary<"i64", "f64">;
      load: Load<"f64">;
    }
> = {
  const: floatConst("f64", 0x44, 8),
  add: binary("f64", 0xa0),
  sub: binary("f64", 0xa1),
  mul: binary("f64", 0xa2),
  div: binary("f64", 0xa3),
  sqrt: unary("f64", 0x9f),
  fromF32: unary("f64", 0xbb),
  fromI32: (a) => expr("f64", [i32Operand(a)], [0xb7]),
  lt: binary("i32", 0x63),
  ge: binary("i32", 0x66),
  reinterpret: unary("f64", 0xbf),
  load: load("f64", 0x2b),
};
