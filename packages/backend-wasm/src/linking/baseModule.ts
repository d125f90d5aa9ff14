import { type OpName, UnsupportedError } from "@centella/core";
import { type AnyOp, isFused } from "@centella/core/backend";
import { detect, isPage, targetOf, type WasmFeatures } from "../detect.ts";
import type { FunctionInfo, ModuleBuilder } from "../emit/index.ts";
import { emitHalfTable } from "../formats/half.ts";
import { fused } from "../fusion/groupKernel.ts";
import type { AnyKernel } from "../kernel.ts";
import { kernels } from "../kernels/index.ts";
import { isLazy, lazyKernel, loadedKernels } from "../kernels/lazy/lazyKernels.ts";
import { emitShared } from "../kernels/shared/index.ts";
import type { CompiledKernels, MemoryParts } from "../memory/memoryInstance.ts";
import { memoryMap, pagesOf } from "../memory/memoryMap.ts";
import type { CheckedOptions } from "../options.ts";
import type { Target } from "../target.ts";
import { autoThreads } from "../threads/cores.ts";
import { ThreadPool } from "../threads/pool.ts";
import { emitStageRunner } from "../threads/stageRunner.ts";
import { KernelLinker } from "./kernelLinker.ts";
import { loadParts, partIfLoaded } from "./lazyParts.ts";
import { moduleBuilderFor } from "./moduleLink.ts";

/** An emitted module and its functions. */
export interface EmittedModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly functions: readonly FunctionInfo[];
  readonly constantBytes: number;
}

/** Kernels that are emitted before a plan asks for them. */
export type Extent = "none" | "all";

/** Emits the first module of every memory: the functions of {@link emitBase}, and the kernels that `extent` names. Pure. */
export function emitModule(
  target: Target,
  { shared = false, memory64 = false }: { readonly shared?: boolean; readonly memory64?: boolean } = {},
  extent: Extent = "all",
): EmittedModule {
  const module = moduleBuilderFor({ isShared: shared, memory64 }, { constants: memoryMap.constants });
  emitBase(module);
  if (extent === "all") emitLoaded(module, target);
  return { bytes: module.build(), functions: module.functions, constantBytes: module.constantBytes };
}

/** Emits the functions that every memory needs. */
export function emitBase(module: ModuleBuilder): void {
  emitStageRunner(module);
  emitHalfTable(module);
}

/** Emits the functions that every plan can call. */
function emitKernels(module: ModuleBuilder, target: Target): void {
  emitShared(module, target);
  for (const kernel of Object.values<AnyKernel>({ ...kernels })) kernel.emit?.(module, target);
}

/** Emits every loaded kernel. */
export function emitLoaded(module: ModuleBuilder, target: Target): void {
  emitKernels(module, target);
  partIfLoaded("floats")?.emitFloats(module, target);
  partIfLoaded("exact")?.emitExact(module);
  for (const emit of new Set(loadedKernels().map((kernel) => kernel.emit))) emit?.(module, target);
}

/**
 * Returns the kernel of an op, or undefined if there is none.
 * @throws {UnsupportedError} for a lazy kernel that is not loaded
 */
export function kernelOf(op: AnyOp): AnyKernel | undefined {
  if (isFused(op)) return fused as AnyKernel;
  if (isLazy(op)) return lazyKernel(op);
  return Object.hasOwn(kernels, op.name) ? (kernels[op.name as OpName] as AnyKernel | undefined) : undefined;
}

/** Compiled modules by target, so that further backends open at once. */
const compiled = new Map<string, Promise<CompiledKernels>>();

/** The parts of an open backend. */
export interface Opened extends MemoryParts {
  readonly target: Target;
  /** Why there is no pool. */
  readonly reason: string | undefined;
  /** The host compiles nothing else. */
  readonly isPrecompiled: boolean;
  /** Every memory has 64-bit addresses. */
  readonly all64: boolean;
  /** Resolves when the kernels that are kept for later processes are written. */
  readonly settled?: (() => Promise<void>) | undefined;
}

/**
 * Compiles the first module and starts the threads.
 * @throws {UnsupportedError} if the engine lacks WASM SIMD or a requested feature
 */
export async function openModule(
  { relaxed, threads, memory64, maxMemoryMiB, kernelCache }: CheckedOptions,
  extent: Extent,
  features: WasmFeatures = detect(),
): Promise<Opened> {
  if (!features.simd) throw new UnsupportedError("wasm", "this JavaScript engine has no WebAssembly SIMD");
  if (relaxed === true && !features.relaxed)
    throw new UnsupportedError("wasm", 'this JavaScript engine has no relaxed SIMD; use relaxed: "auto" or false');
  if (memory64 === true && !features.memory64) throw new UnsupportedError("wasm", `${noMemory64}; use memory64: "auto" or false`);
  const target = compilable(() => targetOf(relaxed === "auto" ? features.relaxed : relaxed));
  const { pool, reason } = await openPool(threads, features);
  const shared = pool !== undefined;
  const kept = isPage() ? undefined : (await import("./keptKernels.ts")).openKept(kernelCache, target);
  return {
    async kernels(memory64) {
      if (memory64) await loadParts(["widening"]);
      return compileOnce(target, shared, memory64, extent);
    },
    kernelLinker: (memory, constantBytes) => new KernelLinker(memory, target, emitKernels, constantBytes, kept?.of(memory)),
    settled: kept?.settled,
    maxPages: pagesOf(maxMemoryMiB),
    no64: memory64 === false ? "memory64 is false" : features.memory64 ? undefined : noMemory64,
    all64: memory64 === true,
    target,
    pool,
    reason,
    isPrecompiled: false,
  };
}

const noMemory64 = "this JavaScript engine has no WebAssembly memory with 64-bit addresses (Node 24, Chrome 133 and Firefox 134 have)";

/** The error of a host that forbids compilation. */
function notCompiled(error: unknown): UnsupportedError {
  const fix = "allow it ('wasm-unsafe-eval' in a page's Content-Security-Policy), or give the option module";
  return new UnsupportedError("wasm", `this host does not compile WebAssembly (${String(error)}); ${fix}`);
}

/**
 * Runs code that compiles modules.
 * @throws {UnsupportedError} if the host forbids it
 */
function compilable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw notCompiled(error);
  }
}

/** The first module for a target, compiled at the first request. */
export function compileOnce(target: Target, shared: boolean, memory64: boolean, extent: Extent): Promise<CompiledKernels> {
  const key = `${target.relaxed} ${target.dots} ${shared} ${memory64} ${extent}`;
  let compiling = compiled.get(key);
  if (compiling === undefined) {
    const { bytes, ...emitted } = emitModule(target, { shared, memory64 }, extent);
    compiling = WebAssembly.compile(bytes).then(
      (module) => ({ module, ...emitted }),
      (error: unknown) => {
        compiled.delete(key);
        throw notCompiled(error);
      },
    );
    compiled.set(key, compiling);
  }
  return compiling;
}

/** Starts the threads, or says why the caller's thread computes alone. */
async function openPool(threads: number | "auto", features: WasmFeatures): Promise<Pick<Opened, "pool" | "reason">> {
  const isAsked = threads !== "auto" && threads > 1;
  if (!features.sharedMemory) {
    if (isAsked)
      throw new UnsupportedError("wasm", "threads need SharedArrayBuffer, which a page has if it is cross-origin isolated; use threads: 1");
    return { pool: undefined, reason: "no SharedArrayBuffer" };
  }
  const count = threads === "auto" ? autoThreads() : threads;
  const failure = (reason: unknown): UnsupportedError | undefined =>
    isAsked ? new UnsupportedError("wasm", `threads cannot start (${String(reason)}); use threads: 1`) : undefined;
  // A page may forbid workers.
  if (!isPage()) return { pool: new ThreadPool(count, failure), reason: undefined };
  try {
    return { pool: await ThreadPool.start(count), reason: undefined };
  } catch (error) {
    const refused = failure(error);
    if (refused !== undefined) throw refused;
    return { pool: undefined, reason: "workers cannot start" };
  }
}
