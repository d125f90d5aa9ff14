import { ArgumentError, type ConcreteSpec, type TensorSpec } from "@centella/core";
import type { AnyOp, Operand } from "@centella/core/backend";
import { emitCommonLoops } from "../elementwise/commonLoops.ts";
import { type FunctionInfo, ModuleBuilder } from "../emit/index.ts";
import type { BuildContext, Emitted } from "../kernel.ts";
import { loadKernelFiles } from "../kernels/lazy/lazyKernels.ts";
import { zip } from "../kernels/shared/zip.ts";
import { Heap } from "../memory/heap.ts";
import type { CompiledKernels } from "../memory/memoryInstance.ts";
import { memoryMap, pagesOf } from "../memory/memoryMap.ts";
import type { Target } from "../target.ts";
import { emitBase, emitLoaded, kernelOf, type Opened } from "./baseModule.ts";
import { loadParts } from "./lazyParts.ts";
import { precompiledName } from "./planLinker.ts";

/**
 * `base.wasm`, for hosts that cannot compile WebAssembly at run time: all kernels, and the most common functions of
 * those that are otherwise emitted per plan.
 */

/** Runs on every machine with SIMD. */
const target: Target = { relaxed: false, dots: "wide" };

/** A call whose functions the module has. */
export interface PrecompiledCall {
  readonly op: AnyOp;
  readonly inputs: readonly (ConcreteSpec | undefined)[];
  readonly params: object;
}

/** Name of the section with the parameter types of each exported function. */
const sectionName = "centella";

const codes = { i32: "i", i64: "l", f32: "f", f64: "d", v128: "v" } as const;

/** Emits the module in binary form, with the functions of the given calls. */
export async function emitPrecompiled(calls: readonly PrecompiledCall[]): Promise<Uint8Array<ArrayBuffer>> {
  await Promise.all([loadKernelFiles(), loadParts()]);
  const module = new ModuleBuilder({ constants: memoryMap.constants, hasTable: true });
  emitBase(module);
  emitLoaded(module, target);
  const known = new Set<string>();
  const none: Emitted = () => 0;
  const emit: BuildContext["emit"] = (key, define) => {
    if (!known.has(key)) define(module, precompiledName(key), target);
    known.add(key);
    return none;
  };
  emitCommonLoops(emit);
  const context: BuildContext = {
    exports: () => none,
    onDemand: () => none,
    include: () => undefined,
    heap: new Heap(new WebAssembly.Memory({ initial: 1, maximum: 1 }), 1),
    target,
    threads: 1,
    maxThreads: 1,
    max: ({ spec }) => spec as ConcreteSpec,
    interleaving: () => undefined,
    isPacked: () => false,
    reserve: () => undefined,
    table: () => () => 0,
    shared: (_key, create) => create(),
    emit,
  };
  for (const { op, inputs, params } of calls) {
    const output = op.infer(inputs, params);
    const kernel = kernelOf(op);
    if (kernel === undefined || kernel.unsupported?.(inputs, params, output) !== undefined) continue;
    const operandOf = (spec: TensorSpec, id: number): Operand => {
      const storage = { id, definition: { kind: "input", name: String(id) }, bytes: 0, first: 0, last: 0 } as const;
      return { spec, storage: storage as Operand["storage"] };
    };
    const operands = inputs.map((spec, id) => spec && operandOf(spec, id));
    kernel.build(context, operands, params, operandOf(output, inputs.length));
  }
  const shapes = module.functions.map(({ params, hasResult, isRange }) => {
    const types = params.map((type) => codes[type]).join("");
    return `${types}${hasResult ? "=" : ""}${isRange ? "*" : ""}`;
  });
  return module.build({ name: sectionName, text: shapes.join(" ") });
}

/**
 * Reads the functions of a module from {@link emitPrecompiled}.
 * @throws {ArgumentError} for any other module
 */
function functionsOf(module: WebAssembly.Module): readonly FunctionInfo[] {
  const [section] = WebAssembly.Module.customSections(module, sectionName);
  const shapes = section === undefined ? [] : new TextDecoder().decode(section).split(" ");
  const names = WebAssembly.Module.exports(module).map(({ name }) => name);
  if (shapes.length !== names.length || !names.includes("runTiles"))
    throw new ArgumentError("wasm: module", "base.wasm of @centella/backend-wasm", "another module", "import it from the package");
  const types = new Map(Object.entries(codes).map(([type, code]) => [code as string, type as keyof typeof codes]));
  return zip(names, shapes).map(([name, shape]) => ({
    name,
    params: [...shape].flatMap((code) => types.get(code) ?? []),
    hasResult: shape.includes("="),
    isRange: shape.includes("*"),
  }));
}

/**
 * Opens a precompiled module.
 * @throws {ArgumentError} for any other module
 */
export function openPrecompiled(module: WebAssembly.Module, maxMemoryMiB: number): Opened {
  const kernels: CompiledKernels = { module, functions: functionsOf(module), constantBytes: memoryMap.constants.bytes };
  return {
    kernels: () => Promise.resolve(kernels),
    kernelLinker: () => undefined,
    pool: undefined,
    maxPages: pagesOf(maxMemoryMiB),
    no64: "base.wasm has no other",
    all64: false,
    target,
    reason: "precompiled",
    isPrecompiled: true,
  };
}
