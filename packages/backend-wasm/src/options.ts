import { ArgumentError } from "@centella/core";
import { boolean, checkOptions, either, type Kinds, kind, oneOf, whole, within } from "@centella/quant/checks";

export interface WasmOptions {
  /**
   * Relaxed SIMD: fused multiply-add and 8-bit dot products, where the engine has them ("auto", the default). Results then
   * depend on whether the machine fuses; `false` gives the same bits on every machine.
   */
  readonly relaxed?: boolean | "auto";
  /**
   * Threads that compute. "auto" (the default): the machine's cores, eight at most; of two threads of a core one, where that can be told
   * (Node on Linux). They are workers over shared memory, so that the caller's thread is free while a run is awaited; without shared
   * memory the caller's thread computes, alone, and `backend.device.name` says so. The number of threads does not change a bit of any
   * result.
   */
  readonly threads?: number | "auto";
  /**
   * Whether ops may be called within a call, by `runtime.sync` or `dataSync` (the default). `false` for pages that await all they compute,
   * such as those that generate text: kernels that language models seldom have are then downloaded with the first program that has one
   * (12 kB less with gzip).
   */
  readonly sync?: boolean;
  /** Largest memory in MiB of a model, up to 16384 (the default). Beyond 4096 it has 64-bit addresses: see `memory64`. */
  readonly maxMemoryMiB?: number;
  /**
   * Memory with 64-bit addresses. "auto" (the default): for models of more than 3.5 GiB, where the engine has it, others being a little
   * faster with 32-bit ones; true: for every plan; false: for none, so that 4 GiB are the most.
   */
  readonly memory64?: boolean | "auto";
  /**
   * For tests of kernels: leaves guard bytes around temporaries and checks them after each run, which raises a `KernelError` if a
   * kernel wrote outside of its output. False by default.
   */
  readonly checkWrites?: boolean;
  /**
   * The package's `@centella/backend-wasm/base.wasm`, compiled, for hosts that compile no WebAssembly at run time. It has no relaxed
   * SIMD, no threads and no fused loops: elementwise ops run one by one.
   */
  readonly module?: WebAssembly.Module;
}

/** What was chosen. */
export type CheckedOptions = Required<Omit<WasmOptions, "module">> & Pick<WasmOptions, "module">;

const kinds: Kinds<WasmOptions> = {
  relaxed: either(boolean, oneOf("auto")),
  threads: either(whole(1, 64), oneOf("auto")),
  sync: boolean,
  maxMemoryMiB: within(1, 16_384),
  memory64: either(boolean, oneOf("auto")),
  checkWrites: boolean,
  module: kind("a WebAssembly.Module", (value) => value instanceof WebAssembly.Module),
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
  } = checkOptions("wasm", options, kinds);
  if (module !== undefined) {
    if (relaxed === true || memory64 === true || (threads !== "auto" && threads > 1))
      throw new ArgumentError("wasm", "a module precompiled alone", "one with relaxed, memory64 or threads", "leave these out");
  }
  return { relaxed, threads, sync, maxMemoryMiB, memory64, checkWrites, ...(module && { module }) };
}
