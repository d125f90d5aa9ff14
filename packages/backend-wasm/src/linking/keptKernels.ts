import type { FunctionInfo } from "../emit/index.ts";

/**
 * Keeps emitted kernels between processes, for the option `kernels`: emitting those of a language model takes 30 ms. A store is for one
 * version of this package, and returns only what was written, whole.
 */
export interface KernelStore {
  /** Returns what was last written under a key, or undefined. */
  read(key: string): Uint8Array<ArrayBuffer> | undefined;
  /** Called after kernels were emitted that were not read. `bytes` returns what to keep; it may be called later, and at most once. */
  write(key: string, bytes: () => Uint8Array<ArrayBuffer>): void;
}

/** A module of kernels, linked after those before it in a list. */
export interface KeptModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly functions: readonly FunctionInfo[];
  /** Bytes of constants of this module and all that were linked before it. */
  readonly constantBytes: number;
}

/** The modules under one key of a store. */
export class KeptKernels {
  readonly modules: readonly KeptModule[];
  readonly #store: KernelStore;
  readonly #key: string;

  constructor(store: KernelStore, key: string) {
    this.#store = store;
    this.#key = key;
    const bytes = store.read(key);
    this.modules = bytes === undefined ? [] : unpacked(bytes);
  }

  /** Keeps a longer list. */
  keep(modules: readonly KeptModule[]): void {
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
