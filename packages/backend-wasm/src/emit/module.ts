import { FunctionBuilder, type FunctionRef, type Params, type Signature } from "./function.ts";
import { type Expr, type Local, signedLeb, unsignedLeb, type ValueType, valueTypeCode } from "./values.ts";

export interface ModuleOptions {
  /** Import a shared memory, for threads. */
  readonly shared?: boolean;
  /** Largest size of the imported memory in pages of 64 KiB. */
  readonly maxPages?: number;
  /** Where constants are placed in memory, and how many bytes there are for them (none: `splat` and the like are refused). */
  readonly constants?: { readonly address: number; readonly bytes: number };
}

const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** Collects functions and writes them as a WASM module that imports `env.memory` and exports every function by name. */
export class ModuleBuilder {
  readonly #options: ModuleOptions;
  readonly #functions: { readonly ref: FunctionRef; readonly body: readonly number[] }[] = [];
  readonly #pool: number[] = [];
  readonly #poolIndex = new Map<string, number>();

  constructor(options: ModuleOptions) {
    this.#options = options;
  }

  /** Emits a function without a result. */
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

  /** Emits a function whose result is the expression that `body` returns. */
  value<S extends Signature, R extends ValueType>(
    name: string,
    signature: S,
    result: R,
    body: (f: FunctionBuilder, params: Params<S>) => Expr<R>,
  ): FunctionRef<S, R> {
    return this.#define(name, signature, result, body);
  }

  /** The module in binary form. */
  build(): Uint8Array<ArrayBuffer> {
    const { shared = false, maxPages = 65536 } = this.#options;
    const functions = this.#functions;
    const types = functions.map(({ ref }) => [
      0x60,
      ...vector(Object.values(ref.signature).map((type) => [valueTypeCode[type]])),
      ...vector(ref.result === undefined ? [] : [[valueTypeCode[ref.result]]]),
    ]);
    const memory = [...text("env"), ...text("memory"), 0x02, shared ? 3 : 1, ...unsignedLeb(1), ...unsignedLeb(maxPages)];
    const data = [0x00, 0x41, ...signedLeb(this.#options.constants?.address ?? 0), 0x0b, ...vector(this.#pool.map((byte) => [byte]))];
    return Uint8Array.from(
      magic.concat(
        section(1, vector(types)),
        section(2, vector([memory])),
        section(3, vector(functions.map((_, i) => unsignedLeb(i)))),
        section(7, vector(functions.map(({ ref }, i) => [...text(ref.name), 0, ...unsignedLeb(i)]))),
        section(10, vector(functions.map(({ body }) => unsignedLeb(body.length).concat(body)))),
        this.#pool.length === 0 ? [] : section(11, vector([data])),
      ),
    );
  }

  #define<S extends Signature, R extends ValueType | undefined>(
    name: string,
    signature: S,
    result: R,
    body: (f: FunctionBuilder, params: Params<S>) => Expr | undefined,
  ): FunctionRef<S, R> {
    if (this.#functions.some(({ ref }) => ref.name === name)) throw new RangeError(`emit: expected new function names, got ${name} twice`);
    const entries = Object.entries(signature).map(([param, type], index): [string, Local] => [
      param,
      { type, index, code: [0x20, ...unsignedLeb(index)] },
    ]);
    const f = new FunctionBuilder(entries.length, { address: (bytes) => this.#constant(bytes) });
    const value = body(f, Object.fromEntries(entries) as Params<S>);
    const ref = { name, signature, result, index: this.#functions.length };
    this.#functions.push({ ref, body: f.finish(value) });
    return ref;
  }

  #constant(bytes: Uint8Array): number {
    const { address, bytes: limit } = this.#options.constants ?? { address: 0, bytes: 0 };
    const key = bytes.join();
    let offset = this.#poolIndex.get(key);
    if (offset === undefined) {
      offset = this.#pool.length;
      this.#pool.push(...bytes);
      if (this.#pool.length > limit) throw new RangeError(`emit: expected at most ${limit} bytes of constants, got ${this.#pool.length}`);
      this.#poolIndex.set(key, offset);
    }
    return address + offset;
  }
}

function vector(items: readonly (readonly number[])[]): number[] {
  const bytes = unsignedLeb(items.length);
  for (const item of items) for (const byte of item) bytes.push(byte);
  return bytes;
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsignedLeb(content.length)].concat(content);
}

function text(value: string): number[] {
  const bytes = [...new TextEncoder().encode(value)];
  return [...unsignedLeb(bytes.length), ...bytes];
}
