import type { Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { requireWhole } from "./shared/checks.ts";

export interface EyeParams {
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns; null means the number of rows. */
  readonly columns: number | null;
}

/**
 * Identity matrix: ones on the main diagonal, zeros elsewhere.
 * `-> y [rows, columns]`, f32.
 * @throws {ArgumentError} unless `rows` and `columns` are whole numbers from 0
 */
export const eye: Op<[], EyeParams, "columns"> = {
  name: "eye",
  inputs: [],
  defaults: { columns: null },
  required: ["rows"],
  infer(_inputs, { rows, columns }) {
    requireWhole("eye", "rows", rows, 0);
    if (columns !== null) requireWhole("eye", "columns", columns, 0);
    return { dtype: "f32", shape: [rows, columns ?? rows] };
  },
  cost: (_inputs, _params, y) => ({ flops: 0, bytes: byteLength(y) }),
};
