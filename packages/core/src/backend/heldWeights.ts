import type { DType } from "../dtype.ts";

/** A weight that a backend holds in another form than it was stored in, since it has no kernel for its type. */
export interface HeldWeight {
  readonly dtype: DType;
  /** Bytes of its stored form. */
  readonly storedBytes: number;
  /** Bytes that it takes. */
  readonly heldBytes: number;
}

/**
 * What a plan warns of where weights are converted when they are loaded: one line for each of their types, with the memory that it costs.
 * `form` says as what they are held ("f32").
 */
export function heldWeightsWarnings(backend: string, form: string, weights: Iterable<HeldWeight>): readonly string[] {
  const byType = new Map<DType, { count: number; stored: number; held: number }>();
  for (const { dtype, storedBytes, heldBytes } of weights) {
    const sum = byType.get(dtype) ?? { count: 0, stored: 0, held: 0 };
    byType.set(dtype, { count: sum.count + 1, stored: sum.stored + storedBytes, held: sum.held + heldBytes });
  }
  return [...byType].map(([dtype, { count, stored, held }]) => {
    const weightsOf = `${count} weight${count === 1 ? "" : "s"} of ${dtype}`;
    return `${backend}: ${weightsOf} held as ${form}, having no kernel of ${count === 1 ? "its" : "their"} own: ${shown(held)} in place of ${shown(stored)}`;
  });
}

function shown(bytes: number): string {
  return bytes < 2 ** 20 ? `${bytes} bytes` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
