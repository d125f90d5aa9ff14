import type { ResolvedSampling } from "./options.ts";

/** The options that {@link dryPenalties} reads. */
export type DryOptions = Pick<ResolvedSampling, "dryMultiplier" | "dryBase" | "dryAllowedLength" | "dryLastN" | "dryBreakers">;

/** Natural logarithm of the greatest f32: penalties stop growing before they overflow. */
const greatestLog = 88.7228391;

/**
 * "Don't repeat yourself": penalties by id, to be subtracted from the logits of tokens that would prolong a repetition. If the last n
 * tokens, n >= `dryAllowedLength`, occurred before, the token that followed them is penalised by
 * `dryMultiplier · dryBase^(n - dryAllowedLength)`. The greatest n of all occurrences counts. Repetitions do not extend across a breaker.
 */
export function dryPenalties(history: ArrayLike<number>, options: DryOptions): ReadonlyMap<number, number> {
  const { dryMultiplier, dryBase, dryAllowedLength, dryLastN, dryBreakers } = options;
  const penalties = new Map<number, number>();
  if (dryMultiplier === 0 || dryLastN === 0) return penalties;
  const count = dryLastN < 0 ? history.length : Math.min(history.length, dryLastN);
  /** The newest token first. */
  const recent = Int32Array.from({ length: count }, (_, i) => history[history.length - 1 - i]!);
  const limit = sinceBreaker(recent, dryBreakers);
  if (count <= dryAllowedLength || limit < dryAllowedLength) return penalties;

  const longest = new Map<number, number>();
  for (const [back, repeated] of commonPrefixes(recent).entries()) {
    const length = Math.min(repeated, limit);
    if (back === 0 || length < dryAllowedLength) continue;
    const next = recent[back - 1]!;
    longest.set(next, Math.max(length, longest.get(next) ?? 0));
  }
  const greatestExponent = dryBase > 1.000001 ? Math.floor(greatestLog / Math.log(dryBase)) : Number.POSITIVE_INFINITY;
  for (const [id, length] of longest) {
    const isBreaker =
      tableOf(dryBreakers)
        .get(id)
        ?.some((ids) => ids.length === 1) ?? false;
    if (!isBreaker) penalties.set(id, dryMultiplier * dryBase ** Math.min(length - dryAllowedLength, greatestExponent));
  }
  return penalties;
}

type Breakers = readonly (readonly number[])[];

const byHead = new WeakMap<Breakers, ReadonlyMap<number, Breakers>>();

/** Breakers by their first id. There can be thousands, so the table is created once. */
function tableOf(breakers: Breakers): ReadonlyMap<number, Breakers> {
  const existing = byHead.get(breakers);
  if (existing !== undefined) return existing;
  const table = new Map<number, (readonly number[])[]>();
  for (const breaker of breakers) {
    const [first] = breaker;
    if (first === undefined) continue;
    const sameFirst = table.get(first);
    if (sameFirst === undefined) table.set(first, [breaker]);
    else sameFirst.push(breaker);
  }
  byHead.set(breakers, table);
  return table;
}

/** Number of tokens after the last breaker, or of all tokens if there is none. */
function sinceBreaker(recent: Int32Array, breakers: Breakers): number {
  const table = tableOf(breakers);
  for (const [head, token] of recent.entries()) {
    const matching = (table.get(token) ?? []).filter(
      (breaker) => breaker.length <= head + 1 && breaker.every((id, i) => id === recent[head - i]),
    );
    if (matching.length > 0) return head + 1 - Math.max(...matching.map((breaker) => breaker.length));
  }
  return recent.length;
}

/** For each shift, the number of leading elements that equal the elements from the shift on (the Z-function), in linear time. */
function commonPrefixes(values: Int32Array): Int32Array {
  const { length } = values;
  const prefixes = new Int32Array(length);
  /** The match `[start, end)` that reaches furthest. */
  let [start, end] = [0, 0];
  for (let i = 1; i < length; i++) {
    let size = i < end ? Math.min(end - i, prefixes[i - start]!) : 0;
    while (i + size < length && values[size] === values[i + size]) size++;
    prefixes[i] = size;
    if (i + size > end) [start, end] = [i, i + size];
  }
  return prefixes;
}
