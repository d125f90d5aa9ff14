import type { ParamsOf } from "@centella/core";
import { range } from "../shared/shape.ts";
import type { ScoreTerms } from "./attentionScores.ts";
import { cacheWidth } from "./cacheElements.ts";
import { roundsOf, type SharedForm } from "./sharedForm.ts";

/** A form, and how a call uses it. */
export interface SharedCall extends SharedForm {
  readonly params: ParamsOf<"attention">;
  readonly terms: ScoreTerms;
  /** Neighbouring tokens of a workgroup. */
  readonly tokens: number;
  /** Workgroups that share the positions of a query. */
  readonly parts: number;
  /** Positions that a lane reads before it looks at them. */
  readonly ahead: number;
}

/** A call, and the parts of its text that several steps need. */
export interface SharedWork extends SharedCall {
  readonly rows: readonly Row[];
  readonly keys: Rounds;
  readonly values: Rounds;
}

/** A row of queries: a token and a head of the workgroup's. */
export interface Row {
  readonly r: number;
  readonly token: number;
  readonly head: number;
}

/** How a lane reads keys, or values. */
export interface Rounds {
  /** For each round, the text that adds the distance from the lane's elements in the first round, in units of this many elements. */
  readonly steps: readonly ((unit: number) => string)[];
  /** Numbers of the lane's vectors: two in each round. */
  readonly vectors: readonly number[];
  /** Lanes of a position that have elements in the last round. */
  readonly inLast: number;
  /** Declares what `steps` name. */
  readonly declarations: readonly string[];
}

function roundsIn(name: string, size: number, perPosition: number): Rounds {
  const count = roundsOf(size, perPosition);
  const parts = size / cacheWidth;
  const before = (count - 1) * perPosition;
  const inLast = parts - before;
  const steps = range(count).map((n) => (unit: number) => (n === 0 ? "" : ` + ${(n * perPosition * cacheWidth) / unit}u`));
  const vectors = range(2 * count);
  if (inLast === perPosition) return { steps, vectors, inLast, declarations: [] };
  // Lanes without elements in the last round read the last elements. Their distance may be negative: it wraps around, as does the sum with it.
  const declarations = [`let ${name}Step = min(lp + ${before}u, ${parts - 1}u) - lp;`];
  return { steps: steps.with(-1, (unit) => ` + ${name}Step * ${cacheWidth / unit}u`), vectors, inLast, declarations };
}

/** Name of one of a lane's vectors, from 0: `a` and `b` in the first round, `a1_` and `b1_` in the second. */
export function vectorName(i: number): string {
  return `${"ab"[i % 2]}${i < 2 ? "" : `${i >> 1}_`}`;
}

/** Derives what the steps of a call need. */
export function sharedWork(call: SharedCall): SharedWork {
  const { dK, dV, perPosition, heads, tokens } = call;
  const rows = range(tokens).flatMap((token) => range(heads).map((head): Row => ({ r: token * heads + head, token, head })));
  return { ...call, rows, keys: roundsIn("key", dK, perPosition), values: roundsIn("value", dV, perPosition) };
}
