import { entryOf } from "@centella/quant/checks";
import type { Plan } from "../backend/backend.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import { byteLength, maxSpec } from "../spec.ts";

/** Estimated bytes of kernels, bindings and records for one op call in a plan. */
const bytesPerNode = 4096;

/** Content and counts of a cache. */
export interface PlanCacheStats {
  readonly plans: number;
  /** See {@link planBytes}. */
  readonly bytes: number;
  readonly compiled: number;
  readonly hits: number;
  readonly evicted: number;
}

/** Compiled plans by key, up to a number and a budget of bytes. Evicts the least recently used plan. */
export class PlanCache {
  readonly #maxPlans: number;
  readonly #maxBytes: number;
  /** Least recently used first. */
  readonly #entries = new Map<string, { readonly plan: Plan | Promise<Plan>; readonly bytes: number }>();
  /** The key that was asked for last. */
  #newest: string | undefined;
  #bytes = 0;
  #compiled = 0;
  #hits = 0;
  #evicted = 0;

  constructor({ maxPlans, maxBytes }: { readonly maxPlans: number; readonly maxBytes: number }) {
    this.#maxPlans = maxPlans;
    this.#maxBytes = maxBytes;
  }

  get stats(): PlanCacheStats {
    return {
      plans: this.#entries.size,
      bytes: this.#bytes,
      compiled: this.#compiled,
      hits: this.#hits,
      evicted: this.#evicted,
    };
  }

  /**
   * The plan of a key, or the promise of it: a key is asked for in one of the two ways. `record` gives the program to compile where
   * there is none. A plan is in the cache for as long as others leave room for it: use it before anything else is awaited.
   */
  get<P extends Plan | Promise<Plan>>(key: string, record: () => ProgramGraph, compile: (program: ProgramGraph) => P): P {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#hits++;
      if (key !== this.#newest) {
        this.#entries.delete(key);
        this.#entries.set(key, known);
        this.#newest = key;
      }
      return known.plan as P;
    }
    const program = record();
    const entry = { plan: compile(program), bytes: planBytes(program) };
    this.#compiled++;
    this.#entries.set(key, entry);
    this.#newest = key;
    this.#bytes += entry.bytes;
    if (entry.plan instanceof Promise) {
      entry.plan.catch(() => {
        if (this.#entries.get(key) === entry) this.#remove(key);
      });
    }
    while (this.#entries.size > 1 && (this.#entries.size > this.#maxPlans || this.#bytes > this.#maxBytes)) this.#evict();
    return entry.plan;
  }

  clear(): void {
    this.#entries.clear();
    this.#newest = undefined;
    this.#bytes = 0;
  }

  #evict(): void {
    const [key, { plan }] = this.#entries.entries().next().value!;
    this.#remove(key);
    this.#evicted++;
    void Promise.resolve(plan).then(
      (old) => old.dispose(),
      () => undefined,
    );
  }

  #remove(key: string): void {
    this.#bytes -= entryOf(this.#entries, key).bytes;
    this.#entries.delete(key);
  }
}

/**
 * An upper bound on what a program's plan holds, known before it is compiled: all its tensors at the maxima of symbolic dims
 * without any sharing, and 4 KiB a call.
 */
export function planBytes({ values, nodes }: ProgramGraph): number {
  return values.reduce((sum, { spec }) => sum + byteLength(maxSpec(spec)), nodes.length * bytesPerNode);
}
