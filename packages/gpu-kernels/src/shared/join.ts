import type { Shape } from "@centella/core";
import { elementAt, layoutOf } from "@centella/core/backend";
import type { U32 } from "../emitter.ts";
import { asValue, isBelow, plus, product, timesPlus, unflatten } from "../extent.ts";
import { type GpuCall, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import type { RequiredSpecs } from "./elementwise.ts";
import { countOf, rowAndPlace, unitsOf } from "./moving.ts";

/** Maximum inputs of a step: every device can bind eight tensors, and one is the output. */
const mostAtOnce = 7;

/** A tensor that is joined with others. */
interface Part {
  readonly index: number;
  /** Its extent along the axis, and where it begins there. */
  readonly extent: number;
  readonly start: number;
}

/** Joins tensors along an axis, on which tensor i has the extent `extents[i]`. `inner` are the axes after it, `outer` those before it. */
export function join(
  call: GpuCall<RequiredSpecs>,
  { outer, inner }: { readonly outer: Shape; readonly inner: Shape },
  extents: readonly number[],
): readonly GpuStep[] {
  const { dtype } = call.output;
  const total = extents.reduce((sum, extent) => sum + extent, 0);
  const parts = extents.map((extent, index) => ({ index, extent, start: extents.slice(0, index).reduce((sum, each) => sum + each, 0) }));
  const copies = parts.map((part) => copyOf(call, { outer, inner, total }, part));
  const isWord = layoutOf(dtype).bytes === 4;
  return isWord || copies.every(({ kind }) => kind === "pieces") ? copies : sharedWords(call, inner, parts);
}

/** Copies a tensor to its place in the result. Elements of less than 32 bits cannot be copied one by one. */
function copyOf(
  call: GpuCall<RequiredSpecs>,
  { outer, inner, total }: { readonly outer: Shape; readonly inner: Shape; readonly total: number },
  { index: tensor, extent, start }: Part,
): GpuStep {
  const { dtype } = call.output;
  const { arePieces, counts } = unitsOf(dtype, { run: [extent, ...inner], row: [total, ...inner], before: [start, ...inner] });
  const common = { args: { x: input(call, tensor), y: output(call) }, shape: [...outer, ...counts.run] };
  const placeOf = (scope: GpuScope, index: U32): U32 => {
    const { k } = scope;
    const [row, place] = rowAndPlace(k, index, outer, countOf(scope, counts.run));
    return asValue(k, plus(k, timesPlus(k, row, countOf(scope, counts.row), place), countOf(scope, counts.before)));
  };
  if (!arePieces)
    return {
      ...common,
      kind: "each",
      name: dtype,
      body: (scope, index) => scope.k.store("y", placeOf(scope, index), scope.k.loadBits("x", index)),
    };
  return {
    ...common,
    kind: "pieces",
    name: `${dtype}_pieces`,
    to: "y",
    body: (scope, index) => ({ at: placeOf(scope, index), words: scope.k.loadPiece("x", index) }),
  };
}

/**
 * Joins tensors whose elements share words: one lane writes all elements of a word. The first step takes as many tensors as can be bound; later
 * steps add to its words.
 */
function sharedWords(call: GpuCall<RequiredSpecs>, inner: Shape, parts: readonly Part[]): readonly GpuStep[] {
  const { dtype, shape } = call.output;
  const { extent: lastExtent, start: lastStart } = elementAt(parts, parts.length - 1);
  const launches = Math.ceil(parts.length / mostAtOnce);
  return Array.from({ length: launches }, (_, launch): GpuStep => {
    const from = launch * mostAtOnce;
    const bound = parts.slice(from, from + mostAtOnce).map((part, i) => ({ name: `x${i}`, ...part }));
    return {
      kind: "map",
      name: launch === 0 ? dtype : `${dtype}_more`,
      args: { ...Object.fromEntries(bound.map(({ name, index }) => [name, input(call, index)])), y: output(call) },
      shape,
      to: "y",
      body: (scope, index) => {
        const { k } = scope;
        const width = product(k, scope.extents(inner));
        const [outer, place, within] = unflatten(k, index, [1, scope.whole(lastStart + lastExtent), width]);
        const bits = k.variable("u32", launch === 0 ? 0 : k.loadBits("y", index));
        for (const { name, start, extent } of bound) {
          const at = k.sub(asValue(k, place), scope.whole(start));
          const size = scope.whole(extent);
          k.if(isBelow(k, at, size), () =>
            bits.set(k.loadBits(name, asValue(k, timesPlus(k, timesPlus(k, outer, size, at), width, within)))),
          );
        }
        return bits.get();
      },
    };
  });
}
