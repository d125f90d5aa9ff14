import { readFileSync } from "node:fs";
import type { Estimate } from "../stats/bootstrap.ts";
import { formatTable } from "../table.ts";
import { UsageError } from "../usageError.ts";

/** One bar that a figure must hold. Only ratios and counts: absolute times depend more on the machine than on the code. */
export interface Budget {
  /** Name of a figure. */
  readonly figure: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** Reason for the bar. */
  readonly reason: string;
}

/** Measurement of a figure, or the reason why there is none. */
export type Reading = { readonly value: Estimate } | { readonly skipped: string };

/** A figure: its name and its measurement. */
export interface Figure {
  readonly name: string;
  /** Unit of the value, e.g. "×" or "KiB". */
  readonly unit: string;
  /** Backend that the measurement needs. */
  readonly backend?: string;
  measure(): Promise<Reading>;
}

export interface Verdict {
  readonly budget: Budget;
  readonly figure: Figure;
  readonly reading: Reading;
  /** Message for a broken budget; undefined if it holds or was skipped. */
  readonly broken?: string;
}

/** A counted value, which has no interval. */
export function exactly(value: number): Reading {
  return { value: { median: value, low: value, high: value } };
}

/** @throws {UsageError} if the file is not a list of budgets, names an unknown figure, or leaves one out */
export function readBudgets(path: string, figures: readonly Figure[]): readonly Budget[] {
  const content: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(content)) throw new UsageError(`${path}: expected a list of budgets, got ${typeof content}`);
  const budgets = content.map((entry, i) => budgetOf(entry, `${path}: entry ${i + 1}`));
  const names = figures.map(({ name }) => name);
  for (const { figure } of budgets) {
    if (!names.includes(figure)) throw new UsageError(`${path}: expected one of the figures ${names.join("; ")}, got ${figure}`);
  }
  for (const name of names) {
    if (!budgets.some(({ figure }) => figure === name)) throw new UsageError(`${path}: expected a budget for ${name}, got none`);
  }
  return budgets;
}

function budgetOf(entry: unknown, where: string): Budget {
  const { figure, atLeast, atMost, reason, ...rest } = { ...(entry as Partial<Budget>) };
  const bars = [atLeast, atMost].filter((bar) => bar !== undefined);
  if (
    typeof figure !== "string" ||
    typeof reason !== "string" ||
    reason.length < 20 ||
    bars.length !== 1 ||
    typeof bars[0] !== "number" ||
    Object.keys(rest).length > 0
  )
    throw new UsageError(`${where}: expected a figure, atLeast or atMost, and a reason in a sentence, got ${JSON.stringify(entry)}`);
  return entry as Budget;
}

/** Compares a reading with its bar. A timed ratio breaks the bar only with its whole interval, so that noise alone does not. */
export function judge(budget: Budget, figure: Figure, reading: Reading): Verdict {
  const verdict = { budget, figure, reading };
  if ("skipped" in reading) return verdict;
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = budget;
  const { median, low, high } = reading.value;
  if (low <= atMost && high >= atLeast) return verdict;
  const bar = budget.atLeast === undefined ? `at most ${number(atMost)}` : `at least ${number(atLeast)}`;
  return { ...verdict, broken: `${figure.name}: expected ${bar} ${figure.unit}, got ${number(median)} ${figure.unit}; ${budget.reason}` };
}

/** A line per budget. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  return formatTable(
    ["figure", "bar", "measured", "95 % interval", "verdict"],
    verdicts.map(({ budget: { atLeast, atMost }, figure: { name, unit }, reading, broken }) => [
      name,
      [
        ...(atMost === undefined ? [] : [`≤ ${number(atMost)} ${unit}`]),
        ...(atLeast === undefined ? [] : [`≥ ${number(atLeast)} ${unit}`]),
      ].join(", "),
      ...("value" in reading
        ? [
            `${number(reading.value.median)} ${unit}`,
            reading.value.low === reading.value.high ? "–" : `[${number(reading.value.low)}–${number(reading.value.high)}]`,
            broken === undefined ? "holds" : "BROKEN",
          ]
        : ["–", "–", `skipped: ${reading.skipped.split("\n")[0]}`]),
    ]),
    ["left", "right", "right", "right", "left"],
  );
}

function number(value: number): string {
  return String(Number(value.toPrecision(3)));
}
