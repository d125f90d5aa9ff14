import { elementAt, mapTuple } from "@centella/quant/checks";
import { atomicStore } from "./atomic.ts";
import { ByteWriter, bytesKey } from "./bytes.ts";
import { i32, i32Operand } from "./scalar.ts";
import { v128 } from "./simd.ts";
import {
  type Code,
  coded,
  type Expr,
  type I32,
  type Instruction,
  type Local,
  memoryAccess,
  memoryImmediate,
  simdOpcode,
  unsignedLeb,
  type V128,
  type ValueType,
  valueTypeCode,
} from "./values.ts";
import type { Widening } from "./widen.ts";

/** Named parameters of a function, in order. */
export type Signature = Readonly<Record<string, ValueType>>;

/** Parameters as a function's body sees them. */
export type Params<S extends Signature> = { readonly [K in keyof S]: Local<S[K]> };

/** A function that functions emitted later can call. */
export interface FunctionRef<S extends Signature = Signature, R extends ValueType | undefined = ValueType | undefined> {
  readonly name: string;
  readonly index: number;
  readonly signature: S;
  readonly result: R;
  readonly compiled: CompiledSignature;
}

/** Compiled types: in a memory with 64-bit addresses, addresses and their components are i64. */
export interface CompiledSignature {
  readonly params: readonly ValueType[];
  readonly result: ValueType | undefined;
}

/** Target of a branch: the end of a block or the start of a loop. */
export interface Label {
  readonly depth: number;
}

/** Constants in memory: `address(bytes)` stores the bytes once. */
export interface ConstantPool {
  address(bytes: Uint8Array): number;
}

/** Opcodes up to this one are blocks, branches and calls. */
const lastControlCode = 0x11;

const storeCode = {
  i32: memoryAccess(0x36),
  i64: memoryAccess(0x37),
  f32: memoryAccess(0x38),
  f64: memoryAccess(0x39),
  v128: memoryAccess(...simdOpcode(11)),
} as const;

const getCode = coded((index) => [0x20, ...unsignedLeb(index)]);
const setCode = coded((index) => [0x21, ...unsignedLeb(index)]);

const scratch = new DataView(new ArrayBuffer(4));

/** A list of `N` elements, or of any length if `N` is not a literal. */
export type Times<T, N extends number, L extends T[] = []> = N extends unknown
  ? number extends N
    ? T[]
    : L["length"] extends N
      ? L
      : Times<T, N, [...L, T]>
  : never;

/** Writes one function's code, statement by statement, in the order of the calls. */
export class FunctionBuilder {
  readonly #params: readonly ValueType[];
  readonly #constants: ConstantPool;
  readonly #locals: ValueType[] = [];
  readonly #prologue: Instruction[] = [];
  readonly #Widening: typeof Widening | undefined;
  /** The code so far. With 64-bit addresses it is written at the end, once all uses of the locals are known. */
  readonly #body = new ByteWriter();
  readonly #statements: Instruction[] = [];
  /** Keyed by 32 bits, or by all bytes. */
  readonly #splats = new Map<number | string, Local<"v128">>();
  /** Receives statements instead of the body, while set. */
  #captured: Instruction[] | undefined;
  #depth = 0;

  /** `widening` emits code for 64-bit addresses. */
  constructor(params: readonly ValueType[], constants: ConstantPool, widening: typeof Widening | undefined) {
    this.#params = params;
    this.#Widening = widening;
    this.#constants = constants;
  }

  local<T extends ValueType>(type: T): Local<T> {
    return localOf(type, this.#params.length + this.#locals.push(type) - 1);
  }

  /** `count` locals of one type. */
  locals<T extends ValueType, N extends number>(type: T, count: N): Times<Local<T>, N> {
    // The type system does not know the length.
    return Array.from({ length: count }, () => this.local(type)) as Local<T>[] as Times<Local<T>, N>;
  }

  /** A new local with the current value of `value`. */
  let<T extends ValueType>(value: Expr<T>): Local<T> {
    const local = this.local(value.type);
    this.set(local, value);
    return local;
  }

  set<T extends ValueType>(local: Local<T>, value: Expr<T>): void {
    this.#add(setLocal(local, value));
  }

  setI32(local: Local<"i32">, value: I32): void {
    this.set(local, i32Operand(value));
  }

  /** `local += by` */
  advance(local: Local<"i32">, by: I32): void {
    this.set(local, i32.add(local, by));
  }

  /** `local -= by`, but at least 0; unsigned. */
  countDown(local: Local<"i32">, by: I32): void {
    this.set(local, i32.select(i32.gtU(local, by), i32.sub(local, by), 0));
  }

  /**
   * A vector with `x` in its four f32 lanes. Loaded once at the function's start, because V8 rebuilds a `v128.const`
   * with three instructions at every use.
   */
  splat(x: number): V128 {
    scratch.setFloat32(0, x, true);
    return this.splatBits(scratch.getUint32(0, true));
  }

  /** A vector with the 32 bits `bits` in its four lanes, loaded once like {@link splat}. */
  splatBits(bits: number): V128 {
    return this.#splats.get(bits >>> 0) ?? this.#load(bits >>> 0, new Uint8Array(new Uint32Array([bits]).buffer));
  }

  /** Address of bytes in the constant pool. */
  data(bytes: Uint8Array): number {
    return this.#constants.address(bytes);
  }

  /** A vector of 16 bytes from the constant pool. */
  pooled(bytes: Uint8Array): V128 {
    const key = bytesKey(bytes);
    return this.#splats.get(key) ?? this.#load(key, bytes);
  }

  /** Stores a value with its own width. */
  store(address: I32, value: Expr, offset = 0): void {
    this.#write([i32Operand(address), value], storeCode[value.type](offset));
  }

  store8(address: I32, value: I32, offset = 0): void {
    this.#write([i32Operand(address), i32Operand(value)], [0x3a, ...memoryImmediate(0, offset)]);
  }

  store16(address: I32, value: I32, offset = 0): void {
    this.#write([i32Operand(address), i32Operand(value)], [0x3b, ...memoryImmediate(0, offset)]);
  }

  /** Stores one 32-bit lane. */
  store32Lane(address: I32, value: V128, lane: number, offset = 0): void {
    this.#write([i32Operand(address), value], [...simdOpcode(90), ...memoryImmediate(0, offset), lane]);
  }

  /** Stores one 16-bit lane. */
  store16Lane(address: I32, value: V128, lane: number, offset = 0): void {
    this.#write([i32Operand(address), value], [...simdOpcode(89), ...memoryImmediate(0, offset), lane]);
  }

  /** Stores one 8-bit lane. */
  store8Lane(address: I32, value: V128, lane: number, offset = 0): void {
    this.#write([i32Operand(address), value], [...simdOpcode(88), ...memoryImmediate(0, offset), lane]);
  }

  /** Stores one 64-bit lane. */
  store64Lane(address: I32, value: V128, lane: number, offset = 0): void {
    this.#write([i32Operand(address), value], [...simdOpcode(91), ...memoryImmediate(0, offset), lane]);
  }

  /** Stores atomically, after all earlier stores. */
  atomicStore(address: I32, value: Expr<"i32" | "i64">): void {
    this.#write([i32Operand(address), value], atomicStore[value.type]);
  }

  /** Stores an address in 8 bytes, of which a 32-bit memory uses 4, for `i32.loadAddress`. */
  storeAddress(address: I32, value: I32, offset = 0): void {
    const immediates = memoryImmediate(0, offset);
    this.#add({ operands: [i32Operand(address), i32Operand(value)], code: [0x36, ...immediates], wideCode: [0x37, ...immediates] });
  }

  /** {@link storeAddress} like {@link atomicStore}. */
  atomicStoreAddress(address: I32, value: I32): void {
    this.#add({ operands: [i32Operand(address), i32Operand(value)], code: atomicStore.i32, wideCode: atomicStore.i64 });
  }

  /** Computes a value only for its effects. */
  drop(value: Expr): void {
    this.#write([value], [0x1a]);
  }

  /** Copies `bytes` bytes. The ranges may overlap. */
  memoryCopy(to: I32, from: I32, bytes: I32): void {
    this.#write([to, from, bytes].map(i32Operand), [0xfc, 10, 0, 0]);
  }

  memoryFill(to: I32, byte: I32, bytes: I32): void {
    this.#write([to, byte, bytes].map(i32Operand), [0xfc, 11, 0]);
  }

  block(body: (exit: Label) => void): void {
    this.#structure(0x02, body);
  }

  /** Runs `body`, and again whenever it branches to `again`. */
  loop(body: (again: Label) => void): void {
    this.#structure(0x03, body);
  }

  if(condition: Expr<"i32">, yes: () => void, no?: () => void): void {
    this.#write([condition], [0x04, 0x40]);
    this.#depth++;
    yes();
    if (no !== undefined) {
      this.#write([], [0x05]);
      no();
    }
    this.#depth--;
    this.#write([], [0x0b]);
  }

  br(label: Label): void {
    this.#write([], [0x0c, ...unsignedLeb(this.#depth - label.depth)]);
  }

  brIf(label: Label, condition: Expr<"i32">): void {
    this.#write([condition], [0x0d, ...unsignedLeb(this.#depth - label.depth)]);
  }

  /** Runs `body` while `condition` holds. */
  while(condition: Expr<"i32">, body: () => void): void {
    this.if(condition, () => {
      this.loop((again) => {
        body();
        this.brIf(again, condition);
      });
    });
  }

  /** Runs `body` for `i` from `from` to below `to` (unsigned), in steps of `step`. */
  for(i: Local<"i32">, from: I32, to: I32, step: number, body: () => void): void {
    this.setI32(i, from);
    this.while(i32.ltU(i, to), () => {
      body();
      this.advance(i, step);
    });
  }

  return(value?: Expr): void {
    this.#write(value === undefined ? [] : [value], [0x0f]);
  }

  /**
   * Interleaves the statements of all parts, so that a processor finds more independent work within its window. Parts
   * that branch, call, differ in length, or set the same local are written one after another.
   */
  interleave(parts: readonly (() => void)[]): void {
    const lists = parts.map((part) => {
      const outer = this.#captured;
      const list: Instruction[] = [];
      this.#captured = list;
      part();
      this.#captured = outer;
      return list;
    });
    const [first = []] = lists;
    const isFlat = lists.every((list) => list.length === first.length && list.every(({ code }) => code[0] > lastControlCode));
    const written = lists.map((list) => [...new Set(list.flatMap(({ index }) => index ?? []))]);
    const isApart = new Set(written.flat()).size === written.flat().length;
    if (isFlat && isApart) first.forEach((_, i) => void lists.forEach((list) => void this.#add(elementAt(list, i))));
    else for (const list of lists) for (const statement of list) this.#add(statement);
  }

  /** Calls a function without a result. */
  call<S extends Signature>(target: FunctionRef<S, undefined>, args: { readonly [K in keyof S]: Expr<S[K]> }): void {
    this.#add(callOf(target, args));
  }

  /** Calls the thunk in a table slot: see `ModuleOptions.hasTable`. */
  callThunk(place: Expr<"i32">, args: I32, begin: I32, end: I32): void {
    const operands = [...[args, begin, end].map(i32Operand), place];
    this.#add({ operands, code: [0x11, 0, 0], params: ["i64", "i32", "i32", "i32"] });
  }

  /** Calls a function for its result. */
  invoke<S extends Signature, R extends ValueType>(target: FunctionRef<S, R>, args: { readonly [K in keyof S]: Expr<S[K]> }): Expr<R> {
    return { ...callOf(target, args), type: target.result };
  }

  /** The function in binary form. `result` is left on the stack. */
  finish(result?: Expr): { readonly body: Uint8Array; readonly compiled: CompiledSignature } {
    const statements = [...this.#prologue, ...this.#statements];
    const widening = this.#Widening && new this.#Widening(statements, result);
    const [params, locals] = mapTuple([this.#params, this.#locals], (types, part) =>
      types.map((type, i) => widening?.typeOf(type, i + part * this.#params.length) ?? type),
    );
    const code = new ByteWriter();
    const runs: { readonly type: ValueType; count: number }[] = [];
    for (const type of locals) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    code.write(unsignedLeb(runs.length));
    for (const { type, count } of runs) code.write([...unsignedLeb(count), valueTypeCode[type]]);
    if (widening === undefined) {
      for (const statement of this.#prologue) writeInstruction(code, statement);
      code.write(this.#body.written);
      if (result !== undefined) writeInstruction(code, result);
    } else {
      for (const statement of statements) widening.write(code, statement);
      widening.writeResult(code);
    }
    code.push(0x0b);
    return { body: code.written, compiled: { params, result: widening?.resultType ?? result?.type } };
  }

  /** A local with a constant that is loaded at the function's start. 4 bytes are repeated four times. */
  #load(key: number | string, bytes: Uint8Array): Local<"v128"> {
    const local = this.local("v128");
    const address = this.#constants.address(bytes);
    this.#prologue.push(setLocal(local, bytes.length === 4 ? v128.load32Splat(address) : v128.load(address)));
    this.#splats.set(key, local);
    return local;
  }

  #structure(opcode: number, body: (label: Label) => void): void {
    this.#write([], [opcode, 0x40]);
    this.#depth++;
    body({ depth: this.#depth });
    this.#depth--;
    this.#write([], [0x0b]);
  }

  #write(operands: readonly Expr[], code: Code): void {
    this.#add({ operands, code });
  }

  #add(statement: Instruction): void {
    if (this.#captured !== undefined) this.#captured.push(statement);
    else if (this.#Widening !== undefined) this.#statements.push(statement);
    else writeInstruction(this.#body, statement);
  }
}

/** The parameter or local variable with an index. */
export function localOf<T extends ValueType>(type: T, index: number): Local<T> {
  return { type, index, code: getCode(index) };
}

function setLocal({ index }: Local, value: Expr): Instruction {
  return { operands: [value], code: setCode(index), index };
}

function callOf<S extends Signature>(target: FunctionRef<S>, args: { readonly [K in keyof S]: Expr<S[K]> }): Instruction {
  const names: (keyof S)[] = Object.keys(target.signature);
  const operands = names.map((name) => args[name]);
  const code: Code = [0x10, ...unsignedLeb(target.index)];
  const { params, result } = target.compiled;
  return { operands, code, params, ...(result === "i64" && target.result === "i32" && { wideCode: code }) };
}

function writeInstruction(to: ByteWriter, { operands, code }: Instruction): void {
  // Most kernels are emitted before V8 compiles this; until then, loops over values allocate an iterator and its results.
  operands?.forEach((operand) => void writeInstruction(to, operand));
  to.write(code);
}
