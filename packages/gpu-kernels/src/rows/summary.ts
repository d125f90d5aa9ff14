import { elementAt } from "@centella/core/backend";
import type { Emitter, NumberType, U32, Values } from "../emitter.ts";
import { asValue, type Extent, plus, times } from "../extent.ts";

/** Values that describe elements of a row, and how those of two sets of elements give those of both. */
export interface Summary<T extends readonly NumberType[]> {
  readonly types: T;
  /** The values for no elements. */
  readonly empty: { readonly [I in keyof T]: number };
  /** Associative and commutative, up to rounding. */
  readonly combine: (k: Emitter, a: Values<T>, b: Values<T>) => Values<T>;
}

/** The summary of one value that `combine` folds from `initial`, its neutral element. */
export function foldSummary<N extends NumberType>(
  type: N,
  initial: number,
  combine: (k: Emitter, a: Values<readonly [N]>[0], b: Values<readonly [N]>[0]) => Values<readonly [N]>[0],
): Summary<readonly [N]> {
  return { types: [type], empty: [initial], combine: (k, [a], [b]) => [combine(k, a, b)] };
}

/** Values that a lane combines. */
export interface Accumulator<T extends readonly NumberType[]> {
  get(): Values<T>;
  add(values: Values<T>): void;
}

/** The values for no elements, to which a lane adds those of elements. */
export function accumulator<const T extends readonly NumberType[]>(k: Emitter, { types, empty, combine }: Summary<T>): Accumulator<T> {
  const own = types.map((type, i) => k.variable(type, elementAt(empty, i)));
  // A tuple through `map` is an array to the types.
  const get = (): Values<T> => own.map((variable) => variable.get()) as unknown as Values<T>;
  return {
    get,
    add(values) {
      const combined = combine(k, get(), values);
      own.forEach((variable, i) => void variable.set(elementAt(combined, i)));
    },
  };
}

/** Combines the values of a group's lanes. `each` calls `take` with the values of single elements, or of several. */
export function summarize<const T extends readonly NumberType[]>(
  k: Emitter,
  summary: Summary<T>,
  each: (take: (values: Values<T>) => void) => void,
): Values<T> {
  const own = accumulator(k, summary);
  each((values) => own.add(values));
  return k.reducer(summary.types)(own.get(), (a, b) => summary.combine(k, a, b));
}

/** Stores a summary in the argument `parts`, as number `number` of those there. */
export function storeSummary<const T extends readonly NumberType[]>(k: Emitter, number: U32, values: Values<T>): void {
  values.forEach((value, i) => void k.store("parts", plus(k, times(k, number, values.length), i), value));
}

/** Reads a summary whose first value is element `at` of the argument `parts`. */
export function loadSummary<const T extends readonly NumberType[]>(k: Emitter, types: T, at: Extent): Values<T> {
  // As in `accumulator`, the types lose the tuple.
  return types.map((type, i) => k.bitcast(type, k.loadBits("parts", asValue(k, plus(k, at, i))))) as unknown as Values<T>;
}
