import type { FunctionInfo } from "../emit/index.ts";
import type { Emitted } from "../kernel.ts";
import { LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Target } from "../target.ts";
import { codeVersion } from "./codeVersion.ts";
import { ModuleLink } from "./moduleLink.ts";

/**
 * Keeps emitted kernels between processes, for the option `kernels`: emitting those of a language model takes 30 ms. A store returns only what
 * was written, whole.
 */
export interface KernelStore {
  /** Returns what was last written under a key, or undefined. Each version of this package has keys of its own: letters, digits and hyphens. */
  read(key: string): Uint8Array<ArrayBuffer> | undefined;
  /** Called after kernels were emitted that were not read. `bytes` returns what to keep; it may be called later, and at most once. */
  write(key: string, bytes: () => Uint8Array<ArrayBuffer>): void;
}

/** A module of kernels, linked after those before it in a list. */
interface KeptModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly functions: readonly FunctionInfo[];
  /** Bytes of constants of this module and all that were linked before it. */
  readonly constantBytes: number;
}

/** The modules that a memory links, in order: those of earlier processes, then its own. */
export class KeptKernels {
  readonly #store: KernelStore;
  readonly #memory: WasmMemory;
  readonly #key: string;
  #modules: readonly KeptModule[];
  #isLinked = false;

  constructor(store: KernelStore, { relaxed, dots }: Target, memory: WasmMemory) {
    const { isShared, memory64 } = memory.heap;
    this.#store = store;
    this.#memory = memory;
    this.#key = `${codeVersion}-${relaxed ? "relaxed" : "strict"}-${dots}-${isShared ? "shared" : "own"}-${memory64 ? 64 : 32}`;
    const bytes = store.read(this.#key);
    this.#modules = bytes === undefined ? [] : unpacked(bytes);
  }

  /** Bytes of constants of the modules; undefined if there are none. */
  get constantBytes(): number | undefined {
    return this.#modules.at(-1)?.constantBytes;
  }

  /** Adds the functions of earlier processes at the first call, and returns the modules to load. */
  link(functions: Map<string, Emitted>): readonly ModuleLink[] {
    if (this.#isLinked) return [];
    this.#isLinked = true;
    return this.#modules.map((kept) => {
      const linkedModule = new LinkedModule(this.#memory);
      for (const info of kept.functions) functions.set(info.name, linkedModule.declare(info));
      return new ModuleLink(this.#memory, linkedModule, kept.bytes);
    });
  }

  /** Keeps one more module. */
  add(module: KeptModule): void {
    this.#modules = [...this.#modules, module];
    const modules = this.#modules;
    this.#store.write(this.#key, () => packed(modules));
  }
}

/** Bytes of the length of the list. */
const lengthBytes = 4;

/** The length of a list in JSON, the list with the sizes of the modules, and the modules. */
function packed(modules: readonly KeptModule[]): Uint8Array<ArrayBuffer> {
  const list = new TextEncoder().encode(JSON.stringify(modules.map(({ bytes, ...rest }) => ({ ...rest, size: bytes.length }))));
  const parts = [new Uint8Array(Uint32Array.of(list.length).buffer), list, ...modules.map(({ bytes }) => bytes)];
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function unpacked(all: Uint8Array<ArrayBuffer>): readonly KeptModule[] {
  let at = lengthBytes + new DataView(all.buffer, all.byteOffset).getUint32(0, true);
  const list: readonly (Omit<KeptModule, "bytes"> & { readonly size: number })[] = JSON.parse(
    new TextDecoder().decode(all.subarray(lengthBytes, at)),
  );
  return list.map(({ size, ...rest }) => {
    at += size;
    return { ...rest, bytes: all.subarray(at - size, at) };
  });
}
