import { f32x4, i32x4, ModuleBuilder, relaxed as relaxedOps, v128 } from "./emit/index.ts";
import { memoryMap } from "./memory/memoryMap.ts";
import type { ByteDots, Target } from "./target.ts";

/** WebAssembly features of this JavaScript engine. */
export interface WasmFeatures {
  /** 128-bit SIMD. Required. */
  readonly simd: boolean;
  /** Relaxed SIMD: fused multiply-add and 8-bit dot products. */
  readonly relaxed: boolean;
  /** Memory that threads can share. A page has it if it is cross-origin isolated. */
  readonly sharedMemory: boolean;
  /** Memory with 64-bit addresses, for models that do not fit in 4 GiB. */
  readonly memory64: boolean;
}

/** Detects the engine's features without emitting kernels. */
export function detect(): WasmFeatures {
  const { crossOriginIsolated = true } = globalThis as { crossOriginIsolated?: boolean };
  const simd = typeof WebAssembly !== "undefined" && WebAssembly.validate(probe(false));
  return {
    simd,
    relaxed: simd && WebAssembly.validate(probe(true)),
    sharedMemory: typeof SharedArrayBuffer !== "undefined" && crossOriginIsolated,
    memory64: simd && WebAssembly.validate(wideMemory),
  };
}

/** The best target for this machine. */
export function targetOf(relaxed: boolean): Target {
  return { relaxed, dots: relaxed ? relaxedDots() : "wide" };
}

/**
 * Finds the fastest relaxed dot product from its result for 255, which is outside the operand's documented range. x86
 * without VNNI adds products in pairs and saturates 2 * 127 * 255 to 16 bits. With VNNI, or on ARM where 255 is -1, one
 * instruction adds four products. An engine gives an instruction the same meaning everywhere.
 */
function relaxedDots(): ByteDots {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.value("dot", {}, "i32", (f) => {
    const bytes = f.let(relaxedOps.dotI8x16I7x16Add(f.splatBits(0x7f7f7f7f), f.splatBits(-1), v128.zero()));
    return i32x4.extract(bytes, 0);
  });
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const result = (exports.dot as () => number)();
  if (result === 2 * 32_767) return "pairs";
  return result === 4 * 127 * 255 ? "mixedQuads" : "quads";
}

/** A module with nothing but a 64-bit memory. */
const wideMemory = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 4, 1);

function probe(relaxed: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("probe", { at: "i32" }, (f, { at }) => {
    const x = f.let(v128.load(at));
    f.store(at, relaxed ? relaxedOps.dotI8x16I7x16Add(x, x, relaxedOps.madd(x, x, x)) : f32x4.add(x, x));
  });
  return module.build();
}

/** Whether this is a web page or its worker: code is loaded over a network, and policies may forbid workers. */
export function isPage(): boolean {
  const { process } = globalThis as { process?: { readonly versions?: { readonly node?: string } } };
  return process?.versions?.node === undefined;
}
