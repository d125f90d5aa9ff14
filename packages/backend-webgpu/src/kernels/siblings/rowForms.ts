import { elementAt } from "@centella/core/backend";
import type { SiblingProduct, Siblings } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { fewestHalved, readsHalves } from "../matrices/matrixTiles.ts";
import type { Dispatch, Resource } from "../shared/kernel.ts";
import { type LeftForm, preparedRows, rowCounts, type ScratchSlots } from "../shared/preparedRows.ts";
import type { Left } from "../shared/products.ts";
import { readsUnits } from "../shared/roundedUnits.ts";

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
    return typeof depth === "number" && readsHalves(weight.dtype, depth, params, capabilities);
  };
  const halved = results.flatMap(({ products }) => products.filter(isHalved));
  /** The number of rows from which on rows of a form are halves. Products that share them begin with the same one. */
  const halvedFromOf = (form: number): number | undefined => {
    const own = halved.filter((product) => formIndex(product) === form).map(({ weight }) => fewestHalved(weight.dtype));
    const fewest = Math.max(...own);
    return own.length > 0 && fewest <= rowCounts(a).most ? fewest : undefined;
  };
  const prepared = forms.map((form, i) => {
    const rows = { name: "a", resource: source, access: "read", element: "f32" } as const;
    const halvedFrom = halvedFromOf(i);
    return preparedRows(form, `a${i}`, a, rows, { scratch, halvedFrom, subgroup: subgroupLanes(capabilities) });
  });
  const leftOf: LeftOf = (product) => {
    const { halves, ...left } = elementAt(prepared, formIndex(product)).left;
    return isHalved(product) && halves !== undefined ? { ...left, halves } : left;
  };
  return { lefts: prepared.map(({ left }) => left), leftOf, roundings: prepared.flatMap(({ dispatches }) => dispatches) };
}
