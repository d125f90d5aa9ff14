import { f32x4, i32x4, ModuleBuilder, relaxed as relaxedOps, v128 } from "./emit/index.ts";
import { memoryMap } from "./memory/memoryMap.ts";
import type { ByteDots, Target } from "./target.ts";

/** What of WebAssembly this JavaScript engine has. */
export interface WasmFeatures {
  /** 128-bit SIMD, without which the backend does not open. */
  readonly simd: boolean;
  /** Relaxed SIMD: fused multiply-add and 8-bit dot products. */
  readonly relaxed: boolean;
  /** Memory that threads can share; a page has it if it is cross-origin isolated. */
  readonly sharedMemory: boolean;
  /** Memory with 64-bit addresses, for models that do not fit in 4 GiB. */
  readonly memory64: boolean;
}

/** Looks what the engine can, without emitting a kernel. */
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

/** The target that suits the machine. */
export function targetOf(relaxed: boolean): Target {
  return { relaxed, dots: relaxed ? relaxedDots() : "wide" };
}

/**
 * Which relaxed dot product is fast, told by what it makes of 255, which is outside the range that it promises: x86 without VNNI adds
 * 127 * 255 by twos in 16 bits, where it saturates. With VNNI, or on ARM where 255 is -1, one instruction adds fours.
 */
function relaxedDots(): ByteDots {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.value("dot", {}, "i32", (f) => {
    const bytes = f.let(relaxedOps.dotI8x16I7x16Add(f.splatBits(0x7f7f7f7f), f.splatBits(-1), v128.zero()));
    return i32x4.extract(bytes, 0);
  });
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  return (exports.dot as () => number)() === 2 * 32_767 ? "pairs" : "quads";
}

/** A module of nothing but a memory with 64-bit addresses. */
const wideMemory = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 4, 1);

function probe(relaxed: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("probe", { at: "i32" }, (f, { at }) => {
    const x = f.let(v128.load(at));
    f.store(at, relaxed ? relaxedOps.dotI8x16I7x16Add(x, x, relaxedOps.madd(x, x, x)) : f32x4.add(x, x));
  });
  return module.build();
}
