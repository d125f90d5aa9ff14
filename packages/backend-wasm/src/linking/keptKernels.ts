import { type KernelCache, openKernelCache } from "@centella/core/kernelCache";
import type { FunctionInfo } from "../emit/index.ts";
import type { Emitted } from "../kernel.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import { LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Target } from "../target.ts";
import { codeVersion } from "./codeVersion.ts";
import { ModuleLink } from "./moduleLink.ts";

/** The kernels that a backend's memories keep between processes. */
interface Kept {
  of(memory: WasmMemory): KeptKernels;
  /** Resolves when the kernels of this process are written. */
  readonly settled: () => Promise<void>;
}

/**
 * Opens the cache for the option `kernelCache`: emitting the kernels of a language model takes tens of milliseconds. Kernels that sources emit
 * have no version, so they are kept only in a folder that is named.
 */
export function openKept(kernelCache: string | false | undefined, target: Target): Kept | undefined {
  const cache = openKernelCache(kernelCache ?? (codeVersion === "source" ? false : undefined));
  return cache && { of: (memory) => new KeptKernels(cache, target, memory), settled: () => cache.settled() };
}

/** A module of kernels. */
interface KeptModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly functions: readonly FunctionInfo[];
  /** Bytes of constants of this module and all before it in the list. */
  readonly constantBytes: number;
  /** Whether it uses constants of the module before it, as a process's modules after its first one do. */
  readonly followsPrevious: boolean;
}

/** Bytes of constants from which kept modules are not used, and are replaced. All kernels together have less than 1,000. */
const maxConstantBytes = memoryMap.constants.bytes / 2;

/** The modules that a memory can link: those of earlier processes, then its own. */
export class KeptKernels {
  readonly #cache: KernelCache;
  readonly #memory: WasmMemory;
  readonly #key: string;
  #modules: readonly KeptModule[];
  /** Modules of earlier processes that are not linked. */
  readonly #unlinked: Set<KeptModule>;
  #hasAdded = false;

  constructor(cache: KernelCache, { relaxed, dots }: Target, memory: WasmMemory) {
    const { isShared, memory64 } = memory.heap;
    this.#cache = cache;
    this.#memory = memory;
    this.#key = `${codeVersion}-${relaxed ? "relaxed" : "strict"}-${dots}-${isShared ? "shared" : "own"}-${memory64 ? 64 : 32}`;
    const bytes = cache.readSync(this.#key);
    const modules = bytes === undefined ? [] : unpacked(bytes);
    this.#modules = (modules.at(-1)?.constantBytes ?? 0) > maxConstantBytes ? [] : modules;
    this.#unlinked = new Set(this.#modules);
  }

  /** Bytes of constants of the modules; undefined if there are none. */
  get constantBytes(): number | undefined {
    return this.#modules.at(-1)?.constantBytes;
  }

  /** Adds the functions of the modules that an earlier process needed for `name` to `functions`, and returns these modules to load. */
  link(name: string, functions: Map<string, Emitted>): readonly ModuleLink[] {
    const end = this.#modules.findIndex((kept) => this.#unlinked.has(kept) && kept.functions.some((info) => info.name === name));
    let start = end;
    while (this.#modules[start]?.followsPrevious === true) start--;
    return this.#modules.slice(Math.max(0, start), end + 1).flatMap((kept) => {
      if (!this.#unlinked.delete(kept)) return [];
      const linkedModule = new LinkedModule(this.#memory);
      for (const info of kept.functions) functions.set(info.name, linkedModule.declare(info));
      return [new ModuleLink(this.#memory, linkedModule, kept.bytes)];
    });
  }

  /** Keeps one more module. */
  add(module: Omit<KeptModule, "followsPrevious">): void {
    this.#modules = [...this.#modules, { ...module, followsPrevious: this.#hasAdded }];
    this.#hasAdded = true;
    const modules = this.#modules;
    this.#cache.write(this.#key, () => packed(modules));
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
