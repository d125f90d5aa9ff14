import type { ByteWriter } from "./bytes.ts";
import { type Expr, type Instruction, signedLeb, type ValueType } from "./values.ts";

const op = {
  if: 0x04,
  brIf: 0x0d,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  select: 0x1b,
  localGet: 0x20,
  localSet: 0x21,
  i64Const: 0x42,
  i64Ne: 0x52,
  wrapI64: 0xa7,
  extendI32S: 0xac,
  extendI32U: 0xad,
} as const;

const [ltU, gtU, leU, geU, divU, remU, shrU] = [0x49, 0x4b, 0x4d, 0x4f, 0x6e, 0x70, 0x76];
/** add, sub, mul, and, or, xor, shl: the operations that compute offsets. */
const carrying = new Set([0x6a, 0x6b, 0x6c, 0x71, 0x72, 0x73, 0x74]);
/** eqz, eq, ne and the unsigned comparisons. */
const comparisons = new Set([0x45, 0x46, 0x47, ltU, gtU, leU, geU]);
/** Unsigned division, remainder and right shift. */
const unsigned = new Set([divU, remU, shrU]);
/** Difference between i64 and i32 opcodes. */
const [arithmeticStep, comparisonStep] = [0x12, 0x0b];

/**
 * Emits code for a memory with 64-bit addresses from the same source. Kernels use i32 throughout; this class finds the
 * values that flow into addresses and computes them in 64 bits, starting with the parameters.
 *
 * A local is wide if an address is computed from it, if it is compared (unsigned) with a wide value, or if it is passed
 * to a wide parameter. In wide expressions sums, differences, products, left shifts and bitwise operations use 64 bits.
 * Other values (quotients, right shifts, tensor elements) are 32-bit counts and are extended. The low 32 bits of a wide
 * value equal those of the 32-bit code. Signed comparisons compare counts.
 */
export class Widening {
  readonly #wide = new Set<number>();

  readonly #result: Expr | undefined;

  constructor(statements: readonly Instruction[], result: Expr | undefined) {
    this.#result = result;
    for (let known = -1; known < this.#wide.size; ) {
      known = this.#wide.size;
      for (const statement of statements) this.#mark(statement, false);
      if (result !== undefined) this.#mark(result, this.#isWide(result));
    }
  }

  /** Compiled type of a local. */
  typeOf(type: ValueType, index: number): ValueType {
    return this.#wide.has(index) ? "i64" : type;
  }

  /** Compiled type of the result, which may be an address. */
  get resultType(): ValueType | undefined {
    const result = this.#result;
    return result && (this.#isWide(result) ? "i64" : result.type);
  }

  writeResult(to: ByteWriter): void {
    const result = this.#result;
    if (result?.type === "i32") this.#writeInteger(to, result, this.#isWide(result));
    else if (result !== undefined) this.write(to, result);
  }

  /** Writes a statement or a value with its own type. */
  write(to: ByteWriter, node: Instruction): void {
    this.#writeOperands(to, node, false);
    const [opcode, ...immediates] = node.wideCode ?? node.code;
    to.write(this.#comparesWide(node) ? [opcode + comparisonStep, ...immediates] : (node.wideCode ?? node.code));
  }

  #writeInteger(to: ByteWriter, value: Expr, isWide: boolean): void {
    const [opcode] = value.code;
    if (isWide && value.constant !== undefined) to.write([op.i64Const, ...signedLeb(value.constant)]);
    else if (isWide && isCarried(value)) {
      this.#writeOperands(to, value, true);
      to.push(opcode === op.select ? opcode : opcode + arithmeticStep);
    } else {
      this.write(to, value);
      const isSo = value.wideCode !== undefined || (opcode === op.localGet && this.#isWideLocal(value));
      if (isWide && !isSo) to.push(unsigned.has(opcode) ? op.extendI32U : op.extendI32S);
      if (isSo && !isWide) to.push(op.wrapI64);
    }
  }

  #writeOperands(to: ByteWriter, node: Instruction, isWide: boolean): void {
    node.operands?.forEach((operand, i) => {
      if (operand.type === "i32") this.#writeInteger(to, operand, this.#isWideOperand(node, operand, i, isWide));
      else this.write(to, operand);
      // An address whose low 32 bits are zero is not null.
      if (isCondition(node, i) && this.#isWide(operand)) to.write([op.i64Const, 0, op.i64Ne]);
    });
  }

  #mark(node: Instruction, isWide: boolean): void {
    if (isWide && node.index !== undefined && node.code[0] === op.localGet) this.#wide.add(node.index);
    const carries = isWide && isCarried(node);
    node.operands?.forEach((operand, i) => {
      this.#mark(operand, operand.type === "i32" && this.#isWideOperand(node, operand, i, carries));
    });
  }

  /** Whether operand `i` of an instruction is needed as 64 bits. */
  #isWideOperand(node: Instruction, operand: Expr, i: number, isWide: boolean): boolean {
    if (isCondition(node, i)) return this.#isWide(operand);
    if (isWide || isAddress(node, i) || this.#comparesWide(node)) return true;
    if (node.code[0] === op.return) return this.resultType === "i64";
    return node.code[0] === op.localSet && this.#isWideLocal(node);
  }

  /** Whether the local that an instruction reads or writes is wide. */
  #isWideLocal({ index }: Instruction): boolean {
    return index !== undefined && this.#wide.has(index);
  }

  #comparesWide({ code, operands = [] }: Instruction): boolean {
    return comparisons.has(code[0]) && operands.some((operand) => this.#isWide(operand));
  }

  /** Whether the value contains an address. */
  #isWide(value: Expr): boolean {
    if (value.type !== "i32") return false;
    if (value.wideCode !== undefined) return true;
    if (value.code[0] === op.localGet) return this.#isWideLocal(value);
    const { operands = [] } = value;
    return isCarried(value) && operands.some((operand, i) => !isCondition(value, i) && this.#isWide(operand));
  }
}

function isCarried({ code }: Instruction): boolean {
  return carrying.has(code[0]) || code[0] === op.select;
}

function isCondition({ code }: Instruction, i: number): boolean {
  return code[0] === op.if || code[0] === op.brIf || (code[0] === op.select && i === 2);
}

function isAddress({ code, wideCode, params }: Instruction, i: number): boolean {
  const [opcode, second] = code;
  if (params !== undefined) return params[i] === "i64";
  if (wideCode !== undefined) return true;
  // memory.copy takes two addresses and a length, memory.fill an address, a byte and a length.
  if (opcode === 0xfc) return second === 10 || (second === 11 && i !== 1);
  if (i !== 0) return false;
  const isSimd = opcode === 0xfd && second !== undefined && (second <= 11 || (second >= 84 && second <= 93));
  return (opcode >= 0x28 && opcode <= 0x3e) || isSimd || opcode === 0xfe;
}
