import type { ConcreteSpec } from "../spec.ts";

/** One call of a custom op in one run, every extent a number. */
export interface CustomCall<P extends object = object> {
  readonly inputs: readonly ConcreteSpec[];
  readonly params: P;
  readonly output: ConcreteSpec;
}

/**
 * Native kernels of a custom op, one property for each kind of kernel. Each backend's package declares its own:
 * ```ts
 * declare module "@centella/core" {
 *   interface CustomKernels<P extends object> {
 *     readonly myDevice?: MyKernel<P>;
 *   }
 * }
 * ```
 * An op without a backend's kernel is unsupported on that backend.
 */
// biome-ignore lint/correctness/noUnusedVariables lint/suspicious/noEmptyInterface: backends merge their declarations with this one
export interface CustomKernels<P extends object = object> {}
