import type { F32, NumberType, U32, Value } from "@centella/gpu-kernels";
import type { NamedArguments, Scope } from "../shared/kernel.ts";

/** Where an element of a product is. */
export interface ResultPlace {
  /** Row of activations, and column, which is a row of the weight. */
  readonly row: U32;
  readonly column: U32;
  /** Flat index. */
  readonly index: U32;
}

/** Values that a thread keeps in registers. */
type Prepared = readonly Value<NumberType>[];

/** Stores the elements of a product elsewhere than in a tensor of their own. */
export interface ResultWriter<P extends Prepared = Prepared> {
  /** Memory that it uses, by names of its own. */
  readonly args: NamedArguments;
  /** Reads and computes what depends on the place alone. */
  prepare(scope: Scope, place: ResultPlace): P;
  /** Stores element `own`. `neighbour` gives that of column `column ^ 1`. */
  store(scope: Scope, place: ResultPlace, prepared: P, own: F32, neighbour: () => F32): void;
}
