import { UnsupportedError } from "@centella/core";
import { halfToFloat } from "@centella/quant";
import { f32x4, ModuleBuilder, relaxed as relaxedOps, v128 } from "./emit/index.ts";
import { Heap } from "./heap.ts";
import type { Exports } from "./kernel.ts";
import { kernels } from "./kernels/index.ts";
import { emitShared } from "./kernels/shared/index.ts";
import { memoryMap, pageBytes } from "./memoryMap.ts";
import type { Target } from "./target.ts";

/** The module of all kernels in binary form. Pure. */
export function emitModule(target: Target): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  emitShared(module, target);
  for (const kernel of Object.values(kernels)) kernel.emit(module, target);
  return module.build();
}

/** Compiled modules by target, so that a second backend starts at once. */
const compiled = new Map<boolean, Promise<WebAssembly.Module>>();

/** Instantiates the kernels over a fresh memory. @throws {UnsupportedError} where the engine lacks WASM SIMD */
export async function openModule(
  relaxed: boolean | "auto",
  maxPages: number,
): Promise<{ readonly heap: Heap; readonly exports: Exports; readonly target: Target }> {
  if (typeof WebAssembly === "undefined" || !WebAssembly.validate(probe(false)))
    throw new UnsupportedError("wasm", "this JavaScript engine has no WebAssembly SIMD");
  const hasRelaxed = WebAssembly.validate(probe(true));
  if (relaxed === true && !hasRelaxed)
    throw new UnsupportedError("wasm", 'this JavaScript engine has no relaxed SIMD; use relaxed: "auto" or false');
  const target = { relaxed: relaxed === "auto" ? hasRelaxed : relaxed };
  let compiling = compiled.get(target.relaxed);
  if (compiling === undefined) {
    compiling = WebAssembly.compile(emitModule(target));
    compiled.set(target.relaxed, compiling);
  }
  const initial = Math.ceil(memoryMap.heap / pageBytes);
  const memory = new WebAssembly.Memory({ initial, maximum: Math.max(initial, maxPages) });
  const instance = await WebAssembly.instantiate(await compiling, { env: { memory } });
  const heap = new Heap(memory, maxPages);
  const table = heap.f32.subarray(memoryMap.halfTable / 4, memoryMap.halfTable / 4 + 65_536);
  for (let h = 0; h < table.length; h++) table[h] = halfToFloat(h);
  const exports: Exports = (name) => {
    const found = instance.exports[name];
    if (typeof found !== "function") throw new RangeError(`wasm: expected an emitted function, got ${name}`);
    return found as (...args: number[]) => number;
  };
  return { heap, exports, target };
}

function probe(relaxed: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("probe", { at: "i32" }, (f, { at }) => {
    const x = f.let(v128.load(at));
    f.store(at, relaxed ? relaxedOps.dotI8x16I7x16Add(x, x, relaxedOps.madd(x, x, x)) : f32x4.add(x, x));
  });
  return module.build();
}
