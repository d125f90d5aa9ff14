import type { DType } from "@centella/core";
import type { FunctionBuilder, Local, V128 } from "../emit/index.ts";
import type { Target } from "../target.ts";

/** What an expression's code may look at and use. */
export interface Scope {
  readonly f: FunctionBuilder;
  readonly target: Target;
  readonly inputs: readonly DType[];
  readonly output: DType;
  /** The values of {@link Expression.scalars} in all lanes. */
  readonly scalars: readonly V128[];
  /** What {@link Expression.variant} gave. */
  readonly variant: string;
}

/** An op that computes each element from the elements at its place: how its code for four elements is made. */
export interface Expression<P extends object = object> {
  /** Parameters that a function is handed when it is called: it serves all their values. */
  scalars?(params: P): readonly number[];
  /** What else of the parameters the code depends on. */
  variant?(params: P): string;
  emit(scope: Scope, ...inputs: Local<"v128">[]): V128;
}
