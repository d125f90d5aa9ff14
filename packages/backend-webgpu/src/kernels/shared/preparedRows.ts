import type { Shape, TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import type { RoundedType } from "@centella/gpu-kernels";
import { rebind } from "../../wgsl/module.ts";
import { halfBytes, halfRowsDispatch } from "../matrices/halfRows.ts";
import type { Binding, Dispatch, Resource } from "./kernel.ts";
import { type Left, roundingDispatch } from "./products.ts";
import { isUnitRounding, roundUnitsDispatch, unitBytes } from "./roundedUnits.ts";
import type { RowCounts } from "./rowProducts.ts";
import { count, maximum } from "./shape.ts";

/** A form of the rows that products read. */
export interface LeftForm {
  readonly rounding: RoundedType | undefined;
  readonly isPacked: boolean;
}

interface Preparation {
  readonly scratch: ScratchSlots;
  /** The number of rows from which on subgroups multiply matrices of halves; undefined if they never do. */
  readonly halvedFrom: number | undefined;
  readonly subgroup: number;
}

/** Rows that products read, and the dispatches that prepare them. */
export interface PreparedRows {
  readonly left: Left;
  readonly dispatches: readonly Dispatch[];
}

/** Rows in a form, in a binding of a name, and the dispatches that round `rows` to it. */
export function preparedRows(
  { rounding, isPacked }: LeftForm,
  name: string,
  a: TensorSpec,
  rows: Binding,
  { scratch, halvedFrom, subgroup }: Preparation,
): PreparedRows {
  const [lead, counts] = [a.shape.slice(0, -1), rowCounts(a)];
  const blocks = isUnitRounding(rounding) ? rounding : undefined;
  // The dispatch that rounds many rows to halves rounds them to blocks, too.
  const most = halvedFrom !== undefined && blocks !== undefined ? halvedFrom - 1 : Infinity;
  const elements = Math.min(most, counts.most) * maximum(a.shape.at(-1) ?? 0);
  const resource = rounding === undefined ? rows.resource : scratch.take(isPacked ? unitBytes(elements) : 4 * elements);
  const binding: Binding = { ...rows, name, resource };
  const roundings = rounding === undefined ? [] : [roundingIn(a, rounding, isPacked, rows, binding, subgroup)];
  const few = forRows(roundings, lead, { most });
  if (halvedFrom === undefined) return { left: { binding, isPacked }, dispatches: few };
  const halves: Binding = { name: "halves", resource: scratch.take(halfBytes(a)), access: "read", element: "vec4u" };
  const read = { binding: blocks === undefined ? binding : rows, blocks };
  const halving = halfRowsDispatch(a, read, halves, { least: halvedFrom, subgroup });
  return { left: { binding, isPacked, halves: { binding: halves, from: halvedFrom } }, dispatches: [...few, halving] };
}

/** The dispatch that rounds `rows`. */
function roundingIn(
  a: TensorSpec,
  rounding: RoundedType,
  isPacked: boolean,
  rows: Binding,
  { resource }: Binding,
  subgroup: number,
): Dispatch {
  if (isPacked && isUnitRounding(rounding)) return roundUnitsDispatch(a, rounding, rows, { ...rows, name: "y", resource }, subgroup);
  return rebind(roundingDispatch(a, rounding, false), { a: rows.resource, y: resource });
}

/**
 * Dispatches that are skipped in runs with other numbers of rows; none if no run has these. `lead` are the extents whose product is the
 * number of rows.
 */
export function forRows(
  dispatches: readonly Dispatch[],
  lead: Shape,
  { least = 0, most = Infinity }: Partial<RowCounts>,
): readonly Dispatch[] {
  const counts = countsOf(lead);
  if (counts.most < least || counts.least > most) return [];
  return dispatches.map((dispatch) => ({
    ...dispatch,
    sizeIn(dims) {
      const rows = count(lead, dims);
      return { ...dispatch.sizeIn(dims), ...((rows < least || rows > most) && { groups: 0 }) };
    },
  }));
}

/** Bytes of the rows as floats. */
export function floatBytes(a: TensorSpec): number {
  return 4 * elementCount(a.shape.map(maximum));
}

/** The numbers of rows of runs. */
export function rowCounts({ shape }: TensorSpec): RowCounts {
  return countsOf(shape.slice(0, -1));
}

function countsOf(lead: Shape): RowCounts {
  const most = elementCount(lead.map(maximum));
  return { least: lead.every((dim) => typeof dim === "number") ? most : 0, most };
}

/** Scratch memory of an op call, a buffer for each slot. */
export class ScratchSlots {
  #slots = 0;

  take(bytes: number): Resource {
    return { kind: "scratch", bytes, slot: this.#slots++ };
  }
}
