import type { TensorSpec } from "@centella/core";
import { type AnyOp, isFused } from "@centella/core/backend";
import { gpuKernels } from "./gpuKernels.ts";
import type { Fusable, GpuKernel, InputSpecs } from "./kernel.ts";

/** A kernel in the form in which a backend runs it. */
export interface BackendKernel extends Fusable {
  /** Reason why a call has no kernel; undefined if it has one. */
  unsupported?(inputs: InputSpecs, params: object, output: TensorSpec): string | undefined;
}

/** Backend-specific parts of a kernel table. */
export interface KernelTableParts<K extends BackendKernel> {
  /** Name of the backend. */
  readonly backend: string;
  /** Kernels by op name that take precedence over the shared ones. */
  readonly own: Readonly<Record<string, K>>;
  /** Returns the backend's form of a shared kernel. */
  shared(op: string, kernel: GpuKernel): K;
  /** Returns the kernel of fused groups. */
  fused(kernelNamed: (op: string) => K | undefined): K;
  /** Returns the kernel that a custom op brings for this backend, if any. */
  custom(op: AnyOp): K | undefined;
  /** The reason why the backend cannot serve tensors of these specs. */
  refuses?(specs: InputSpecs): string | undefined;
}

/** Kernels of a GPU backend: its own, the shared ones for the remaining ops, and those of fused groups and custom ops. */
export class KernelTable<K extends BackendKernel> {
  /** By op name. */
  readonly kernels: ReadonlyMap<string, K>;
  readonly #parts: KernelTableParts<K>;
  readonly #fused: K;

  constructor(parts: KernelTableParts<K>) {
    this.#parts = parts;
    const shared = Object.entries(gpuKernels).map(([op, kernel]) => [op, parts.shared(op, kernel as GpuKernel)] as const);
    this.kernels = new Map([...shared, ...Object.entries(parts.own)]);
    this.#fused = parts.fused((op) => this.kernels.get(op));
  }

  /** The kernel of an op or of a fused group; undefined if there is none. */
  kernelOf(op: AnyOp): K | undefined {
    if (op.kernels !== undefined) return this.#parts.custom(op);
    return isFused(op) ? this.#fused : this.kernels.get(op.name);
  }

  /** The reason why there is no kernel for a call; undefined if there is one. A function that can be passed on: see `Backend.unsupported`. */
  readonly unsupported = (op: AnyOp, inputs: InputSpecs, params: object, output: TensorSpec): string | undefined => {
    if (op.alias === true) return undefined;
    const { backend } = this.#parts;
    const kernel = this.kernelOf(op);
    if (kernel === undefined)
      return op.kernels === undefined ? `there is no kernel for ${op.name} yet` : `${op.name} came without a kernel for ${backend}`;
    return this.#parts.refuses?.([...inputs, output]) ?? kernel.unsupported?.(inputs, params, output);
  };
}
