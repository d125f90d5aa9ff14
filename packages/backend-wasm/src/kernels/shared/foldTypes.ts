import type { FunctionBuilder, Local, V128 } from "../../emit/index.ts";

/** Vectors in which a reduction gathers elements. */
export type State = readonly Local<"v128">[];

/**
 * A reduction in lanes: the elements are spread over several states, which are merged at the end, in an order that depends on the
 * extent alone.
 */
export interface Fold {
  /** Whether states have four lanes of 32 bits or, for sums, two f64. */
  readonly lanes: "single" | "double";
  /** Vectors of a state. */
  readonly vectors: number;
  /** Where each vector of a state starts. */
  start(f: FunctionBuilder): readonly V128[];
  /** Adds a vector of elements. */
  step(f: FunctionBuilder, state: State, x: Local<"v128">): void;
  /** Adds another state. */
  merge(f: FunctionBuilder, state: State, other: State): void;
  /** What an element beyond the end counts as, in all lanes. */
  none(f: FunctionBuilder): V128;
  /** Adds most of the next `left` f32, `load(offset)` being four of them `offset` bytes from `at`, in fewer instructions; advances both. */
  bulk?(f: FunctionBuilder, state: State, load: (offset: number) => V128, at: Local<"i32">, left: Local<"i32">): void;
}
