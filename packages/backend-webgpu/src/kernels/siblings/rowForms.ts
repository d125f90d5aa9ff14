import type { TensorSpec } from "@centella/core";
import { elementAt, elementCount } from "@centella/core/backend";
import type { RoundedType, SiblingProduct, Siblings } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { rebind } from "../../wgsl/module.ts";
import { halfBytes, halfRowsDispatch } from "../matrices/halfRows.ts";
import { fewestHalved, readsHalves } from "../matrices/matrixTiles.ts";
import type { Binding, Dispatch, Resource } from "../shared/kernel.ts";
import { type Left, roundingDispatch } from "../shared/products.ts";
import { isUnitRounding, readsUnits, roundUnitsDispatch, unitBytes } from "../shared/roundedUnits.ts";
import type { RowCounts } from "../shared/rowProducts.ts";
import { maximum } from "../shared/shape.ts";

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
  const { a } = siblings;
  const subgroup = subgroupLanes(capabilities);
  const forms = formsOf(siblings, capabilities);
  const products = siblings.results.flatMap((result) => result.products);
  const unrounded: Binding = { name: "a", resource: source, access: "read", element: "f32" };
  const lefts = forms.map(({ rounding, isPacked }, i): Left => {
    const resource = rounding === undefined ? source : scratch.take(isPacked ? unitBytes(mostElementsOf(a)) : floatBytes(a));
    return { binding: { ...unrounded, name: `a${i}`, resource }, isPacked };
  });
  const roundings = forms.flatMap(({ rounding, isPacked }, i) => {
    if (rounding === undefined) return [];
    const { resource } = elementAt(lefts, i).binding;
    if (!isPacked || !isUnitRounding(rounding)) return [rebind(roundingDispatch(a, rounding, false), { a: source, y: resource })];
    return [roundUnitsDispatch(a, rounding, unrounded, { ...unrounded, name: "y", resource }, subgroup)];
  });
  const formIndex = (product: SiblingProduct): number => {
    const form = formOf(siblings, product, capabilities);
    return forms.findIndex((other) => isSameForm(form, other));
  };
  const isHalved = (product: SiblingProduct): boolean => {
    const depth = a.shape.at(-1);
    return typeof depth === "number" && readsHalves(product.weight.dtype, depth, product.params, capabilities);
  };
  const halvedForms = rowCounts(a).most < fewestHalved ? [] : products.filter(isHalved).map(formIndex);
  const halves = lefts.map((_, i): Binding | undefined => {
    if (!halvedForms.includes(i)) return undefined;
    return { name: "halves", resource: scratch.take(halfBytes(a)), access: "read", element: "vec4u" };
  });
  const halvings = lefts.flatMap((left, i) => {
    const y = halves[i];
    const { rounding, isPacked } = elementAt(forms, i);
    const units = isPacked && isUnitRounding(rounding) ? rounding : undefined;
    return y === undefined ? [] : [halfRowsDispatch(a, { binding: left.binding, units }, y, { least: fewestHalved, subgroup })];
  });
  const leftOf: LeftOf = (product) => {
    const [i, isRead] = [formIndex(product), isHalved(product)];
    const own = halves[i];
    return { ...elementAt(lefts, i), ...(isRead && own && { halves: own }) };
  };
  return { lefts, leftOf, roundings: [...roundings, ...halvings] };
}

function mostElementsOf({ shape }: TensorSpec): number {
  return elementCount(shape.map(maximum));
}

/** Bytes of the rows as floats. */
export function floatBytes(a: TensorSpec): number {
  return 4 * mostElementsOf(a);
}

/** The numbers of rows of runs. */
export function rowCounts(a: TensorSpec): RowCounts {
  const lead = a.shape.slice(0, -1);
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
