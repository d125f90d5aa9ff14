import { elementAt } from "@centella/core/backend";
import type { FunctionInfo } from "../emit/index.ts";
import type { Call, Emitted, Range } from "../kernel.ts";
import { Control } from "../threads/control.ts";
import { growTable } from "../threads/worker.ts";
import type { Heap } from "./heap.ts";

/** An emitted function and the table slot of its thunk. */
export interface Entry {
  readonly info: FunctionInfo;
  readonly place: number;
}

/** Receives calls while a list is recorded. */
export interface CallRecorder {
  call(entry: Entry, args: readonly number[]): void;
}

/** Raised when a recorded step reads memory or needs a result: it can only run on the caller's thread. */
export class NotRecordable extends Error {}

/** A memory, and on this thread the function table of the modules over it. */
export class WasmMemory {
  readonly heap: Heap;
  /** Control block of the step lists in this memory. */
  readonly control: Control;
  readonly table: WebAssembly.Table = new WebAssembly.Table({ element: "anyfunc", initial: 0 });
  readonly #entries = new WeakMap<Emitted, () => Entry>();
  readonly #free: { readonly base: number; readonly count: number }[] = [];
  #end = 0;
  #recorder: CallRecorder | undefined;

  /** Number of threads that run modules over this memory. The caller's thread has the last index. */
  readonly maxThreads: number;

  constructor(heap: Heap, poolSize: number) {
    this.heap = heap;
    this.control = new Control(heap);
    this.maxThreads = poolSize + 1;
  }

  /** Runs `work` with calls of emitted functions recorded instead of made. */
  record(recorder: CallRecorder, work: () => void): void {
    this.#recorder = recorder;
    this.heap.guard = () => {
      throw new NotRecordable("memory");
    };
    try {
      work();
    } finally {
      this.#recorder = undefined;
      this.heap.guard = undefined;
    }
  }

  get recorder(): CallRecorder | undefined {
    return this.#recorder;
  }

  entryOf(fn: Emitted): Entry {
    const entry = this.#entries.get(fn);
    if (entry === undefined)
      throw new RangeError("wasm: expected a function that was emitted for this memory, got another one; this is a bug");
    return entry();
  }

  /** Sets the entry of a function. `entry` is called whenever it is needed. */
  define(fn: Emitted, entry: () => Entry): void {
    this.#entries.set(fn, entry);
  }

  /** Reserves table slots. */
  reserve(count: number): number {
    const index = this.#free.findIndex((range) => range.count >= count);
    if (index < 0) {
      const base = this.#end;
      this.#end += count;
      return base;
    }
    const { base, count: available } = elementAt(this.#free, index);
    if (available === count) this.#free.splice(index, 1);
    else this.#free[index] = { base: base + count, count: available - count };
    return base;
  }

  /** Frees table slots whose functions are no longer called. */
  release(base: number, count: number): void {
    for (let place = base; place < base + count; place++) this.table.set(place, null);
    this.#free.push({ base, count });
  }
}

/**
 * A module over a memory. Its functions can be referenced once they are emitted, and called once it is instantiated.
 */
export class LinkedModule {
  readonly #memory: WasmMemory;
  readonly #functions = new Map<string, Emitted>();
  #exports: WebAssembly.Exports = {};
  #base: number | undefined;

  constructor(memory: WasmMemory) {
    this.#memory = memory;
  }

  /** Number of functions. */
  get size(): number {
    return this.#functions.size;
  }

  /** Table slot of the first function. All functions have to be declared. */
  get base(): number {
    this.#base ??= this.#memory.reserve(this.size);
    return this.#base;
  }

  /** Declares the next function of the module, in order. */
  declare(info: FunctionInfo): Emitted {
    const index = this.size;
    const isWide = info.params.includes("i64");
    const fn: Emitted = (...args) => {
      const { recorder } = this.#memory;
      if (recorder === undefined) return this.direct(info.name)(...(isWide ? (widened(args, info.params) as number[]) : args));
      if (info.hasResult) throw new NotRecordable(info.name);
      recorder.call(this.#memory.entryOf(fn), args);
      return 0;
    };
    const linkedModule = this;
    const entry: Entry = {
      info,
      get place() {
        return linkedModule.base + index;
      },
    };
    this.#memory.define(fn, () => entry);
    this.#functions.set(info.name, fn);
    return fn;
  }

  /** Instantiates the module on this thread. */
  async load(module: WebAssembly.Module): Promise<void> {
    this.#exports = (await WebAssembly.instantiate(module, this.#imports())).exports;
  }

  /** {@link load} within the call. */
  loadSync(module: WebAssembly.Module): void {
    this.#exports = new WebAssembly.Instance(module, this.#imports()).exports;
  }

  #imports(): WebAssembly.Imports {
    const { heap, table, maxThreads } = this.#memory;
    growTable(table, this.base + this.size);
    const base = new WebAssembly.Global({ value: "i32", mutable: false }, this.base);
    const thread = new WebAssembly.Global({ value: "i32", mutable: false }, maxThreads - 1);
    return { env: { memory: heap.memory, table, base, thread } };
  }

  has(name: string): boolean {
    return this.#functions.has(name);
  }

  /** @throws {RangeError} for a name that was not emitted */
  get(name: string): Emitted {
    const found = this.#functions.get(name);
    if (found === undefined) throw new RangeError(`wasm: expected an emitted function, got ${name}`);
    return found;
  }

  /** Returns a function whose calls are never recorded. */
  direct(name: string): Emitted {
    return this.#exports[name] as Emitted;
  }

  unload(): void {
    this.#memory.release(this.base, this.size);
    this.#exports = {};
  }
}

/** Converts arguments for functions with 64-bit parameters. */
function widened(args: readonly number[], params: readonly string[]): readonly (number | bigint)[] {
  return args.map((arg, i) => (params[i] === "i64" ? BigInt(arg) : arg));
}

/** Makes the calls of a stage on this thread, with a yield after each. */
export function* callsOf(work: Range | readonly Call[]): Iterable<undefined> {
  if ("fn" in work) {
    for (let begin = 0; begin < work.total; begin += work.grain) {
      work.fn(...work.args, begin, Math.min(work.total, begin + work.grain));
      yield;
    }
    return;
  }
  for (const { fn, args, chained = [] } of work) {
    fn(...args);
    for (const next of chained) next.fn(...next.args);
    yield;
  }
}
