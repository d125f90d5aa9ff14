import { ArgumentError } from "@centella/core";
import { boolean, checkOptions, either, type Kinds, kind, nonEmptyString, oneOf, whole, within } from "@centella/quant/checks";

export interface WasmOptions {
  /**
   * Relaxed SIMD (fused multiply-add, 8-bit dot products). "auto" (default) uses it if the engine has it. Results then
   * depend on whether the machine fuses; `false` gives the same bits on every machine.
   */
  readonly relaxed?: boolean | "auto";
  /**
   * Number of threads. "auto" (default) is the number of cores, at most eight; hyperthreads of a core count once where
   * that is known (Node on Linux). Threads are workers over shared memory, so the caller's thread stays free during
   * awaited runs. Without shared memory the caller's thread computes alone, and `backend.device.name` says so. Results
   * do not depend on the number of threads.
   */
  readonly threads?: number | "auto";
  /**
   * Whether `runtime.sync` and `dataSync` may compute within the call (default true). `false` suits pages that await
   * all results, such as those that generate text: kernels that language models rarely use are then downloaded with the
   * first program that needs them (12 kB less, gzipped).
   */
  readonly sync?: boolean;
  /** Maximum memory of a model in MiB, up to 16384 (default). Above 4096 it needs 64-bit addresses: see `memory64`. */
  readonly maxMemoryMiB?: number;
  /**
   * Memory with 64-bit addresses. "auto" (default) uses it for models above 3.5 GiB if the engine has it, because
   * 32-bit addresses are a little faster; true uses it for every plan; false never, which limits memory to 4 GiB.
   */
  readonly memory64?: boolean | "auto";
  /**
   * For tests of kernels: surrounds temporaries with guard bytes and checks them after each run. A write outside a
   * kernel's output raises a `KernelError`. Default false.
   */
  readonly checkWrites?: boolean;
  /**
   * The package's `@centella/backend-wasm/base.wasm`, for hosts that cannot compile WebAssembly at run time. It has no
   * relaxed SIMD, no threads and no fused loops: elementwise ops run one by one.
   */
  readonly module?: WebAssembly.Module;
  /**
   * Folder in which emitted kernels are kept, so that later processes do not emit them again; false: none. Default: `centella/kernels` in the
   * user's cache folder, which is `XDG_CACHE_HOME`, on Windows `LOCALAPPDATA`, or `~/.cache`. Backends share it. It grows to 256 MiB at most;
   * then the oldest files are removed. Only you should be able to write to it. In pages there is none.
   */
  readonly kernelCache?: string | false;
}

/** Options with their defaults applied. */
export type CheckedOptions = Required<Omit<WasmOptions, "module" | "kernelCache">> & {
  readonly [Name in "module" | "kernelCache"]: WasmOptions[Name] | undefined;
};

const kinds: Kinds<WasmOptions> = {
  relaxed: either(boolean, oneOf("auto")),
  threads: either(whole(1, 64), oneOf("auto")),
  sync: boolean,
  maxMemoryMiB: within(1, 16_384),
  memory64: either(boolean, oneOf("auto")),
  checkWrites: boolean,
  module: kind("a WebAssembly.Module", (value) => value instanceof WebAssembly.Module),
  kernelCache: either(nonEmptyString, oneOf(false)),
};

/** @throws {ArgumentError} for an unknown option or a value outside its range */
export function checkedOptions(options: WasmOptions): CheckedOptions {
  const {
    relaxed = "auto",
    threads = "auto",
    sync = true,
    maxMemoryMiB = 16_384,
    memory64 = "auto",
    checkWrites = false,
    module,
    kernelCache,
  } = checkOptions("wasm", options, kinds);
  if (module !== undefined) {
    if (relaxed === true || memory64 === true || (threads !== "auto" && threads > 1))
      throw new ArgumentError("wasm", "a module without relaxed, memory64 or threads", "a module with one of these", "leave it out");
  }
  return { relaxed, threads, sync, maxMemoryMiB, memory64, checkWrites, module, kernelCache };
}
