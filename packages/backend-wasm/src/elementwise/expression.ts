import type { DType } from "@centella/core";
import type { FunctionBuilder, Local, V128 } from "../emit/index.ts";
import type { Target } from "../target.ts";

/** What an expression's code may use. */
export interface Scope {
  readonly f: FunctionBuilder;
  readonly target: Target;
  readonly inputs: readonly DType[];
  readonly output: DType;
  /** The values of {@link Expression.scalars} in all lanes. */
  readonly scalars: readonly V128[];
  /** The result of {@link Expression.variant}. */
  readonly variant: string;
}

/** Code of an elementwise op for four elements. */
export interface Expression<P extends object = object> {
  /** Parameters that are passed at run time, so that one function serves all their values. */
  scalars?(params: P): readonly number[];
  /** The other parameters that the code depends on, as a key. */
  variant?(params: P): string;
  emit(scope: Scope, ...inputs: Local<"v128">[]): V128;
}
