import { ByteWriter, bytesKey } from "./bytes.ts";
import { type CompiledSignature, FunctionBuilder, type FunctionRef, localOf, type Params, type Signature } from "./function.ts";
import { type Expr, type Local, memoryImmediate, signedLeb, unsignedLeb, type ValueType, valueTypeCode } from "./values.ts";
import type { Widening } from "./widen.ts";

export interface ModuleOptions {
  /** Import a shared memory, for threads. */
  readonly shared?: boolean;
  /**
   * Import a memory with 64-bit addresses, with code emitted by this class. Functions are the same, except that
   * parameters which addresses are computed from are i64.
   */
  readonly memory64?: typeof Widening;
  /** Maximum size of the imported memory in pages of 64 KiB. */
  readonly maxPages?: number;
  /**
   * Import `env.table`, `env.base` and `env.thread` (see {@link threadIndex}), and put a thunk of every function in the
   * table, from slot `base` on. A thunk `(args, begin, end)` calls its function with the arguments at address `args`,
   * {@link slotBytes} apart. If the function's last parameters are `begin` and `end`, the thunk adds its own to these
   * arguments.
   */
  readonly hasTable?: boolean;
  /** Address and size of the constants. Without it `splat` and similar methods throw. */
  readonly constants?: { readonly address: number; readonly bytes: number };
  /**
   * Emit functions when they are requested, by `require` or a caller. By default all are emitted, in order of
   * definition.
   */
  readonly isLazy?: boolean;
}

/** Bytes of an argument in memory. */
export const slotBytes = 8;

/**
 * Index of the running thread, below `BuildContext.maxThreads`, for scratch memory of its own. Only in modules with a
 * table.
 */
export const threadIndex: Expr<"i32"> = { type: "i32", code: [0x23, 1] };

/** How to call a function from a list in memory. */
export interface FunctionInfo {
  readonly name: string;
  readonly params: readonly ValueType[];
  readonly hasResult: boolean;
  /** Whether the last two parameters are `begin` and `end`. */
  readonly isRange: boolean;
}

/** A function that may not be emitted yet. */
interface Definition {
  readonly ref: FunctionRef;
  readonly emit: () => Pick<EmittedFunction, "body" | "compiled">;
}

/** An emitted function. */
interface EmittedFunction {
  readonly ref: FunctionRef;
  readonly index: number;
  readonly body: Uint8Array;
  readonly compiled: CompiledSignature;
}

const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** Collects functions and writes them as a WASM module that imports `env.memory` and exports every function by name. */
export class ModuleBuilder {
  readonly #options: ModuleOptions;
  readonly #definitions = new Map<string, Definition>();
  /** By name, in order. */
  readonly #emitted = new Map<string, EmittedFunction>();
  readonly #pool = new ByteWriter();
  readonly #poolIndex = new Map<string, number>();
  /** Bytes of constants of earlier modules. */
  #placed = 0;

  constructor(options: ModuleOptions) {
    this.#options = options;
  }

  /** Defines a function without a result. */
  function<S extends Signature>(
    name: string,
    signature: S,
    body: (f: FunctionBuilder, params: Params<S>) => void,
  ): FunctionRef<S, undefined> {
    return this.#define(name, signature, undefined, (f, params) => {
      body(f, params);
      return undefined;
    });
  }

  /** Defines a function whose result is the expression that `body` returns. */
  value<S extends Signature, R extends ValueType>(
    name: string,
    signature: S,
    result: R,
    body: (f: FunctionBuilder, params: Params<S>) => Expr<R>,
  ): FunctionRef<S, R> {
    return this.#define(name, signature, result, body);
  }

  /** Returns the module in binary form, with an optional custom section. */
  build(custom?: { readonly name: string; readonly text: string }): Uint8Array<ArrayBuffer> {
    const { shared = false, constants, memory64, maxPages = memory64 ? 262_144 : 65_536, hasTable = false } = this.#options;
    const functions = [...this.#emitted.values()];
    const bodies = [...functions.map(({ body }) => body), ...(hasTable ? functions.map(thunk) : [])];
    const thunkType = [0x60, ...vector([[memory64 ? 0x7e : 0x7f], [0x7f], [0x7f]]), 0];
    const types = functions.map(({ compiled: { params, result } }) => [
      0x60,
      ...vector(params.map((type) => [valueTypeCode[type]])),
      ...vector(result === undefined ? [] : [[valueTypeCode[result]]]),
    ]);
    const limits = 1 + (shared ? 2 : 0) + (memory64 ? 4 : 0);
    const memory = [...text("env"), ...text("memory"), 0x02, limits, ...unsignedLeb(1), ...unsignedLeb(maxPages)];
    const table = [
      [...text("env"), ...text("table"), 0x01, 0x70, 0, 0],
      [...text("env"), ...text("base"), 0x03, 0x7f, 0],
      [...text("env"), ...text("thread"), 0x03, 0x7f, 0],
    ];
    const thunks = [0x00, 0x23, 0x00, 0x0b, ...vector(functions.map((_, i) => unsignedLeb(functions.length + i)))];
    const out = new ByteWriter();
    const section = (id: number, content: ArrayLike<number>): void => {
      out.push(id);
      out.writeSized(content);
    };
    out.write(magic);
    section(1, vector([thunkType, ...types]));
    section(2, vector([memory, ...(hasTable ? table : [])]));
    section(3, vector(bodies.map((_, i) => unsignedLeb(i < functions.length ? i + 1 : 0))));
    section(7, vector(functions.map(({ ref }, i) => [...text(ref.name), 0, ...unsignedLeb(i)])));
    if (hasTable) section(9, vector([thunks]));
    const code = new ByteWriter();
    code.write(unsignedLeb(bodies.length));
    for (const body of bodies) code.writeSized(body);
    section(10, code.written);
    if (this.#pool.length > this.#placed) {
      const data = new ByteWriter();
      const address = (constants?.address ?? 0) + this.#placed;
      data.write([1, 0x00, ...(memory64 ? [0x42, ...signedLeb(address)] : [0x41, ...signedLeb(address | 0)]), 0x0b]);
      data.writeSized(this.#pool.written.subarray(this.#placed));
      section(11, data.written);
    }
    if (custom !== undefined) section(0, [...text(custom.name), ...encoder.encode(custom.text)]);
    return out.written.slice();
  }

  /**
   * Starts another module with the same definitions, over the same memory. Functions are emitted again when they are
   * called. Existing constants keep their addresses, and the module contains only new ones.
   */
  next(): void {
    this.#emitted.clear();
    this.#placed = this.#pool.length;
  }

  /**
   * Emits a defined function and the functions that it calls.
   * @throws {RangeError} for an undefined name
   */
  require(name: string): void {
    const definition = this.#definitions.get(name);
    if (definition === undefined) throw new RangeError(`emit: expected a function that was defined, got ${name}`);
    this.#emit(definition);
  }

  /** A previously defined function without a result, with at least these parameters. */
  find<S extends Signature = Record<never, ValueType>>(name: string, least?: S): FunctionRef<Signature & S, undefined> {
    const found = this.#definitions.get(name)?.ref;
    if (found === undefined) throw new RangeError(`emit: expected a function that was emitted, got ${name}`);
    const isMissing = ([param, type]: [string, ValueType]): boolean => found.signature[param] !== type;
    const missing = Object.entries(least ?? {}).find(isMissing);
    if (missing !== undefined)
      throw new RangeError(`emit: expected ${name} with ${missing.join(" of ")}, got ${JSON.stringify(found.signature)}`);
    return found as FunctionRef<Signature & S, undefined>;
  }

  /** The emitted functions, in table order. */
  get functions(): readonly FunctionInfo[] {
    return [...this.#emitted.values()].map(({ ref, compiled }) => ({
      name: ref.name,
      params: compiled.params,
      hasResult: ref.result !== undefined,
      isRange: isRange(ref),
    }));
  }

  /** Bytes of constants. */
  get constantBytes(): number {
    return this.#pool.length;
  }

  #define<S extends Signature, R extends ValueType | undefined>(
    name: string,
    signature: S,
    result: R,
    body: (f: FunctionBuilder, params: Params<S>) => Expr | undefined,
  ): FunctionRef<S, R> {
    if (this.#definitions.has(name)) throw new RangeError(`emit: expected new function names, got ${name} twice`);
    const { memory64, isLazy = false } = this.#options;
    const emit = (): Pick<EmittedFunction, "body" | "compiled"> => {
      const entries = Object.entries(signature).map(([param, type], index): [string, Local] => [param, localOf(type, index)]);
      const f = new FunctionBuilder(Object.values(signature), { address: (bytes) => this.#constant(bytes) }, memory64);
      return f.finish(body(f, Object.fromEntries(entries) as Params<S>));
    };
    const emitted = (): EmittedFunction => this.#emit({ ref, emit });
    const ref: FunctionRef<S, R> = {
      name,
      signature,
      result,
      get index() {
        return emitted().index;
      },
      get compiled() {
        return emitted().compiled;
      },
    };
    this.#definitions.set(name, { ref, emit });
    if (!isLazy) emitted();
    return ref;
  }

  /** Emits the function at the first request. */
  #emit({ ref, emit }: Definition): EmittedFunction {
    const known = this.#emitted.get(ref.name);
    if (known !== undefined) return known;
    // The functions that it calls come before it.
    const code = emit();
    const emitted = { ref, index: this.#emitted.size, ...code };
    this.#emitted.set(ref.name, emitted);
    return emitted;
  }

  #constant(bytes: Uint8Array): number {
    const { address, bytes: limit } = this.#options.constants ?? { address: 0, bytes: 0 };
    const key = bytesKey(bytes);
    let offset = this.#poolIndex.get(key);
    if (offset === undefined) {
      offset = this.#pool.length;
      this.#pool.write(bytes);
      if (this.#pool.length > limit) throw new RangeError(`emit: expected at most ${limit} bytes of constants, got ${this.#pool.length}`);
      this.#poolIndex.set(key, offset);
    }
    return address + offset;
  }
}

function isRange({ signature }: FunctionRef): boolean {
  return Object.keys(signature).slice(-2).join() === "begin,end";
}

const argumentLoad = { i32: 0x28, i64: 0x29, f32: 0x2a, f64: 0x2b } as const;

/** Body of a function's thunk. */
function thunk({ ref, index, compiled: { params, result } }: EmittedFunction): Uint8Array {
  const first = isRange(ref) ? params.length - 2 : params.length;
  const code = new ByteWriter();
  code.push(0);
  params.forEach((type, i) => {
    if (type === "v128") throw new RangeError(`emit: expected numbers as parameters, got ${type}`);
    code.write([0x20, 0, argumentLoad[type], ...memoryImmediate(0, slotBytes * i)]);
    if (i < first) return;
    // Bounds of ranges are i32.
    code.write([0x20, 1 + i - first, ...(type === "i64" ? [0xad, 0x7c] : [0x6a])]);
  });
  code.write([0x10, ...unsignedLeb(index), ...(result === undefined ? [] : [0x1a]), 0x0b]);
  return code.written;
}

function vector(items: readonly (readonly number[])[]): number[] {
  const bytes = [...unsignedLeb(items.length)];
  for (const item of items) bytes.push(...item);
  return bytes;
}

const encoder = new TextEncoder();

function text(value: string): number[] {
  const bytes = encoder.encode(value);
  return [...unsignedLeb(bytes.length), ...bytes];
}
