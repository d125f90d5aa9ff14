import { KernelError, type TensorSpec, UnsupportedError } from "@centella/core";
import { type AnyOp, elementAt, isQuantized, type ProgramGraph } from "@centella/core/backend";
import type { WasmKernel } from "./customKernel.ts";
import type { AnyKernel } from "./kernel.ts";
import type { Heap } from "./memory/heap.ts";

type Run = (...args: number[]) => void;

/** Why user kernels cannot run in a memory with 64-bit addresses. */
export const no64Custom = "kernels of custom ops take 32-bit addresses, but this memory has 64-bit ones (a large model, or memory64: true)";

/** Kernels of user-defined ops, instantiated over the memory once per op. */
export class CustomKernels {
  readonly #heap: Heap;
  readonly #kernels = new WeakMap<AnyOp, AnyKernel>();

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /**
   * Prepares a program's kernels for {@link get}.
   * @throws {KernelError} with the engine's message
   * @throws {UnsupportedError} in a memory with 64-bit addresses
   */
  async prepare({ nodes }: ProgramGraph): Promise<void> {
    for (const op of new Set(nodes.map((node) => node.op))) {
      const kernel = op.kernels?.wasm;
      if (kernel !== undefined && !this.#kernels.has(op)) this.#kernels.set(op, kernelOf(kernel, await this.#instantiate(op, kernel)));
    }
  }

  /** Returns a prepared kernel. */
  get(op: AnyOp): AnyKernel | undefined {
    return this.#kernels.get(op);
  }

  async #instantiate({ name }: AnyOp, { module }: WasmKernel): Promise<Run> {
    const { memory, memory64, isShared } = this.#heap;
    if (memory64) throw new UnsupportedError(`wasm: ${name}`, no64Custom);
    const bytes = module({ shared: isShared });
    try {
      const { instance } = await WebAssembly.instantiate(bytes, { env: { memory } });
      const { run } = instance.exports;
      if (typeof run !== "function") throw new TypeError("it exports no function run");
      return run as Run;
    } catch (error) {
      throw new KernelError(name, `${bytes.length} bytes of the op's WASM`, String(error));
    }
  }
}

/** Why a call of a user-defined op has no kernel, or undefined. */
export function customUnsupported({ name, kernels }: AnyOp, specs: readonly (TensorSpec | undefined)[]): string | undefined {
  if (kernels?.wasm === undefined) return `${name} came without a kernel for wasm`;
  const odd = specs.find((spec) => spec !== undefined && isQuantized(spec.dtype));
  return odd && `custom kernels do not support ${odd.dtype}`;
}

function kernelOf({ args }: WasmKernel, call: Run): AnyKernel {
  return {
    emit: () => undefined,
    build({ heap }, inputs, params, y) {
      const operands = inputs.map((_, i) => elementAt(inputs, i));
      return (run) => {
        // Only the module knows its parameters' types, so it is called from here and not from a step list.
        heap.touch();
        const resolved = (operand: typeof y) => ({ dtype: operand.spec.dtype, shape: run.shape(operand) });
        const rest = args?.({ inputs: operands.map(resolved), params, output: resolved(y) }) ?? [];
        call(...operands.map((operand) => run.address(operand)), run.address(y), ...rest);
      };
    },
  };
}
