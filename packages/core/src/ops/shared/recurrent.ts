import { ArgumentError } from "../../errors.ts";
import type { HostTensor } from "../../program/op.ts";
import type { TensorSpec } from "../../spec.ts";
import { requireShape } from "./checks.ts";
import { requireDType } from "./elementwise.ts";

/** @throws {ShapeError | DTypeError} unless `positions` and `rows` are `[T] i32`. */
export function requireTokens(op: string, tokens: TensorSpec["shape"][number], positions: TensorSpec, rows: TensorSpec): void {
  for (const [name, spec] of Object.entries({ positions, rows })) {
    requireDType(op, name, spec, ["i32"]);
    requireShape(op, name, spec, [tokens]);
  }
}

/** Tokens from `first` up to `end` of one sequence, whose recurrent state is in row `row` of the persistent. */
export interface Run {
  readonly row: number;
  readonly first: number;
  readonly end: number;
}

/** Runs of adjacent tokens with equal rows. @throws {ArgumentError} for a row outside `[0, states)` */
export function runsOf(op: string, rows: HostTensor, states: number): Run[] {
  const runs: Run[] = [];
  const values = rows.data;
  for (let first = 0, end = 0; first < values.length; first = end) {
    const row = values[first]!;
    if (row < 0 || row >= states)
      throw new ArgumentError(
        op,
        `rows from 0 to ${states - 1}`,
        `${row} at ${first}`,
        "correct the rows, or declare a state with more rows",
      );
    do end++;
    while (end < values.length && values[end] === row);
    runs.push({ row, first, end });
  }
  return runs;
}
