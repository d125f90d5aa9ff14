import type { Shape, TensorSpec } from "@centella/core";
import { elementAt, elementCount } from "@centella/core/backend";
import type { RoundedType, SiblingProduct, Siblings } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { rebind } from "../../wgsl/module.ts";
import { halfBytes, halfRowsDispatch } from "../matrices/halfRows.ts";
import { fewestHalved } from "../matrices/matrixTiles.ts";
import { matrixUnit } from "../matrices/matrixUnit.ts";
import { halfExponent } from "../shared/halfTiles.ts";
import type { Binding, Dispatch, Resource } from "../shared/kernel.ts";
import { type Left, multipliesHalves, roundingDispatch } from "../shared/products.ts";
import { isUnitRounding, readsUnits, roundUnitsDispatch, unitBytes } from "../shared/roundedUnits.ts";
import type { RowCounts } from "../shared/rowProducts.ts";
import { count, maximum } from "../shared/shape.ts";

/** A form of the rows that products read. */
export interface LeftForm {
  readonly rounding: RoundedType | undefined;
  readonly isPacked: boolean;
}

/** The form of the rows that a product reads. */
export function formOf({ lefts }: Siblings, { left, weight }: SiblingProduct, capabilities: Capabilities): LeftForm {
  const rounding = lefts[left];
  return { rounding, isPacked: readsUnits(weight.dtype, rounding, capabilities) };
}

/** The different forms that products read. */
export function formsOf(siblings: Siblings, capabilities: Capabilities): readonly LeftForm[] {
  const all = siblings.results.flatMap(({ products: multiplied }) => multiplied.map((product) => formOf(siblings, product, capabilities)));
  return all.filter((form, i) => i === all.findIndex((other) => isSameForm(form, other)));
}

function isSameForm(a: LeftForm, b: LeftForm): boolean {
  return a.rounding === b.rounding && a.isPacked === b.isPacked;
}

/** The rows that products read. */
export interface Lefts {
  /** In each form. */
  readonly lefts: readonly Left[];
  readonly leftOf: LeftOf;
  /** Dispatches that round them. */
  readonly roundings: readonly Dispatch[];
}

/** The rows that a product reads. */
export type LeftOf = (product: SiblingProduct) => Left;

/** The rows in each form that products read, `source` if they are not rounded. */
export function leftsOf(siblings: Siblings, capabilities: Capabilities, source: Resource, scratch: ScratchSlots): Lefts {
  const { a, results } = siblings;
  const depth = a.shape.at(-1);
  const forms = formsOf(siblings, capabilities);
  const formIndex = (product: SiblingProduct): number => {
    const form = formOf(siblings, product, capabilities);
    return forms.findIndex((other) => isSameForm(form, other));
  };
  const isHalved = ({ weight, params }: SiblingProduct): boolean => {
    return rowCounts(a).most >= fewestHalved && typeof depth === "number" && multipliesHalves(weight, depth, params, capabilities);
  };
  const halved = results.flatMap(({ products }) => products.filter(isHalved).map(formIndex));
  const exponent = matrixUnit(capabilities) === undefined ? halfExponent : undefined;
  const prepared = forms.map((form, i) => {
    const rows = { name: "a", resource: source, access: "read", element: "f32" } as const;
    return preparedIn(form, `a${i}`, a, rows, { scratch, isHalved: halved.includes(i), subgroup: subgroupLanes(capabilities), exponent });
  });
  const leftOf: LeftOf = (product) => {
    const { halves, ...left } = elementAt(prepared, formIndex(product)).left;
    return isHalved(product) && halves !== undefined ? { ...left, halves } : left;
  };
  return { lefts: prepared.map(({ left }) => left), leftOf, roundings: prepared.flatMap(({ dispatches }) => dispatches) };
}

interface Preparation {
  readonly scratch: ScratchSlots;
  /** Whether many rows are also rounded to halves, and the exponent of {@link halfRowsDispatch}. */
  readonly isHalved: boolean;
  readonly exponent: number | undefined;
  readonly subgroup: number;
}

/** Rows in a form, in a binding of a name, and the dispatches that round `rows` to it. */
function preparedIn(
  { rounding, isPacked }: LeftForm,
  name: string,
  a: TensorSpec,
  rows: Binding,
  { scratch, isHalved, subgroup, exponent }: Preparation,
): { readonly left: Left; readonly dispatches: readonly Dispatch[] } {
  const [lead, counts] = [a.shape.slice(0, -1), rowCounts(a)];
  const blocks = isUnitRounding(rounding) ? rounding : undefined;
  // The dispatch that rounds many rows to halves rounds them to blocks, too.
  const most = isHalved && blocks !== undefined ? fewestHalved - 1 : Infinity;
  const elements = Math.min(most, counts.most) * maximum(a.shape.at(-1) ?? 0);
  const resource = rounding === undefined ? rows.resource : scratch.take(isPacked ? unitBytes(elements) : 4 * elements);
  const binding: Binding = { ...rows, name, resource };
  const roundings = rounding === undefined ? [] : [roundingIn(a, rounding, isPacked, rows, binding, subgroup)];
  const few = forRows(roundings, lead, { most });
  if (!isHalved) return { left: { binding, isPacked }, dispatches: few };
  const halves: Binding = { name: "halves", resource: scratch.take(halfBytes(a)), access: "read", element: "vec4u" };
  const read = { binding: blocks === undefined ? binding : rows, blocks };
  const halving = halfRowsDispatch(a, read, halves, { least: fewestHalved, subgroup, exponent });
  return { left: { binding, isPacked, halves }, dispatches: [...few, halving] };
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
