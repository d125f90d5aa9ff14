import { formatBytes } from "@centella/quant/checks";
import type { DType } from "../dtype.ts";
import type { Persistent } from "../program/programGraph.ts";

/** A weight as a backend holds it. */
interface HeldWeight {
  readonly persistent: Pick<Persistent, "spec">;
  readonly storedBytes: number;
  readonly bytes: number;
  /** Undefined for a weight in its stored form. */
  readonly convertedTo: string | undefined;
}

/** One warning for each dtype whose weights are converted when they are loaded, with the form ("4-bit codes") and what it costs. */
export function convertedWarnings(backend: string, weights: Iterable<HeldWeight>): readonly string[] {
  const byType = new Map<DType, { count: number; stored: number; held: number; form: string }>();
  for (const { persistent, storedBytes, bytes, convertedTo: form } of weights) {
    if (form === undefined) continue;
    const { dtype } = persistent.spec;
    const sum = byType.get(dtype) ?? { count: 0, stored: 0, held: 0, form };
    byType.set(dtype, { count: sum.count + 1, stored: sum.stored + storedBytes, held: sum.held + bytes, form });
  }
  return [...byType].map(([dtype, { count, stored, held, form }]) => {
    const [what, whose] = count === 1 ? ["weight", "its"] : ["weights", "their"];
    const size = `${formatBytes(held)} in place of ${formatBytes(stored)}`;
    return `${backend}: ${count} ${what} of ${dtype} held as ${form}, having no kernel of ${whose} own: ${size}`;
  });
}
