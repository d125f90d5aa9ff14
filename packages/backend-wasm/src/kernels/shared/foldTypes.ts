import type { FunctionBuilder, Local, V128 } from "../../emit/index.ts";

/** State vectors of a reduction. */
export type State = Single | Pair;
export type Single = readonly [Local<"v128">];
export type Pair = readonly [Local<"v128">, Local<"v128">];

/** The states that four elements are added to: two if states have two lanes. */
export type VectorStates<S extends State = State> = readonly [S] | readonly [low: S, high: S];

/**
 * A reduction in lanes. Elements are spread over several states, which are merged at the end in an order that depends
 * only on the extent.
 */
export interface Fold<S extends State = State> {
  /** Whether states have four 32-bit lanes or, for sums, two f64 lanes. */
  readonly lanes: "single" | "double";
  /** Vectors per state. */
  readonly vectors: number;
  /** New locals for a state. */
  locals(f: FunctionBuilder): S;
  /** Start value of each vector of a state. */
  start(f: FunctionBuilder): readonly V128[];
  /** Adds a vector of elements. */
  step(f: FunctionBuilder, state: S, x: Local<"v128">): void;
  /** Adds another state. */
  merge(f: FunctionBuilder, state: S, other: S): void;
  /** Value of elements beyond the end, in all lanes. */
  none(f: FunctionBuilder): V128;
  /**
   * Adds most of the next `left` f32 in fewer instructions and advances both. `load(offset)` reads four elements at
   * `offset` bytes from `at`.
   */
  bulk?(f: FunctionBuilder, state: S, load: (offset: number) => V128, at: Local<"i32">, left: Local<"i32">): void;
}
