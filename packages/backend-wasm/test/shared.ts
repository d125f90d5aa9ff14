import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { targetOf } from "../src/detect.ts";
import { type FunctionBuilder, ModuleBuilder, type Params, relaxed, type Signature, v128 } from "../src/emit/index.ts";
import { groupRows } from "../src/formats/block.ts";
import type { FormatName } from "../src/formats/index.ts";
import { emitInterleave } from "../src/formats/interleave.ts";
import { memoryMap } from "../src/memory/memoryMap.ts";
import type { Target } from "../src/target.ts";

const root = resolve(process.env.CENTELLA_SHARED ?? resolve(import.meta.dirname, "../../../../shared"));

/** Path of an external test file, or undefined if it does not exist. */
export function sharedPath(name: string): string | undefined {
  const path = resolve(root, name);
  return existsSync(path) ? path : undefined;
}

/** Both kinds of emitted code; relaxed SIMD only if this engine has it. */
export const targets: readonly Target[] = [targetOf(false), ...(hasRelaxedSimd() ? [targetOf(true)] : [])];

function hasRelaxedSimd(): boolean {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("probe", { at: "i32" }, (f, { at }) => {
    const x = f.let(v128.load(at));
    f.store(at, relaxed.madd(x, x, x));
  });
  return WebAssembly.validate(module.build());
}

/** Instantiates one function over a new memory of `pages` pages. */
export function instantiate<S extends Signature>(
  signature: S,
  body: (f: FunctionBuilder, params: Params<S>) => void,
  pages = 16,
): { readonly call: (...args: number[]) => void; readonly memory: WebAssembly.Memory } {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("call", signature, body);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  return { call: exports.call as (...args: number[]) => void, memory };
}

let interleaving: WebAssembly.Module | undefined;

/** Interleaves whole groups of rows. */
export function interleaved(name: FormatName, rowBytes: number, rows: Uint8Array): Uint8Array {
  if (interleaving === undefined) {
    const module = new ModuleBuilder({ constants: memoryMap.constants });
    emitInterleave(module);
    interleaving = new WebAssembly.Module(module.build());
  }
  const [from, to] = [memoryMap.heap, memoryMap.heap + rows.length + 2];
  const memory = new WebAssembly.Memory({ initial: Math.ceil((to + rows.length) / 65_536), maximum: 65_536 });
  const bytes = new Uint8Array(memory.buffer);
  bytes.set(rows, from);
  const { exports } = new WebAssembly.Instance(interleaving, { env: { memory } });
  const call = exports[`interleave.${name}`] as (...args: number[]) => void;
  call(from, to, rowBytes, 0, rows.length / groupRows / rowBytes);
  return bytes.slice(to, to + rows.length);
}

/**
 * Number of steps that read memory while they were recorded, and so return to JavaScript. `record` is a spy on that of
 * `WasmMemory`.
 */
export function hostSteps(record: { readonly mock: { readonly results: readonly { readonly type: string }[] } }): number {
  return record.mock.results.filter(({ type }) => type === "throw").length;
}
