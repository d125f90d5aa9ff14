import type { Dim, TensorSpec } from "@centella/core";
import { lastOf, named } from "@centella/quant/checks";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuCall, type GpuScope, type GpuScratch, type GpuStep, input, output } from "../kernel.ts";
import { isRowEnd, prepareTokens, rowOfToken } from "./recurrent.ts";

/** Maximum lanes per group. Lane i holds state elements i, i + lanes, … */
const mostLanes = 256;

/** Maximum state elements per lane. */
const mostKept = 16;

/** Places of the inputs of `deltaScan`, or without `q` of `deltaScanWrite`. */
export type DeltaPlaces = Readonly<Record<"k" | "v" | "decay" | "a" | "b" | "state" | "positions" | "rows", number>> & {
  readonly q?: number;
};

/** Why a group of lanes cannot keep a row of a head's state, or undefined if it can. */
export function unsupportedDelta(k: TensorSpec): string | undefined {
  const size = Number(lastOf(k.shape));
  return size > mostLanes * mostKept ? `no kernel for keys of ${size} elements; up to ${mostLanes * mostKept}` : undefined;
}

/** What the steps of a call know of it. */
interface Sizes {
  readonly tokens: Dim;
  readonly heads: number;
  readonly channels: number;
  /** Elements of a key. */
  readonly size: number;
  readonly state: TensorSpec;
  /** Vectors of a token and head, in the order in which they are stored together. */
  readonly vectors: readonly ("decay" | "a" | "b" | "k" | "q")[];
}

/**
 * A group of lanes per row of a head's state, which it keeps while it walks the tokens. The vectors of a token and head are
 * first stored together: apart, they would be more arguments than every device can bind. A row outside the state has the outputs of an empty
 * state. Without queries, the state after the last token of each sequence is stored in place.
 */
export function deltaSteps(call: GpuCall, places: DeltaPlaces): readonly GpuStep[] {
  const specOf = (name: keyof DeltaPlaces): TensorSpec => call.inputs[named(places, name) as number] as TensorSpec;
  const [tokens, heads, size] = specOf("k").shape as readonly [Dim, number, number];
  const channels = Number(lastOf(specOf("v").shape));
  const vectors = ["decay", "a", "b", "k", ...(places.q === undefined ? [] : ["q" as const])] as const;
  const sizes: Sizes = { tokens, heads, channels, size, state: specOf("state"), vectors };
  const { step, argument } = prepareTokens(call, places);
  const gathered: GpuScratch = { kind: "scratch", dtype: "f32", elements: [tokens, heads, vectors.length * size], after: argument };
  const own = places.q === undefined ? { state: output(call) } : { state: input(call, places.state), y: output(call) };
  return [
    step,
    gather(call, places, sizes, gathered, lastOf(specOf("decay").shape) === 1),
    {
      kind: "groups",
      name: `${vectors.length}_${size}`,
      args: { tokens: argument, vectors: gathered, v: input(call, places.v), ...own },
      shape: [heads, channels],
      lanes: Math.min(mostLanes, Math.max(32, 2 ** Math.ceil(Math.log2(size / mostKept)))),
      body: (scope, group) => walk(scope, group, sizes),
    },
  ];
}

/** `[T, H, vectors, K]` of the vectors `[T, H, K]`; a decay per head is repeated. */
function gather(call: GpuCall, places: DeltaPlaces, { tokens, heads, size, vectors }: Sizes, to: GpuScratch, isPerHead: boolean): GpuStep {
  return {
    kind: "each",
    name: `vectors_${vectors.length}_${isPerHead ? "1" : "n"}`,
    args: { ...Object.fromEntries(vectors.map((name) => [name, input(call, named(places, name) as number)])), to },
    shape: [tokens, heads, size],
    body: (scope, index) => {
      const { k } = scope;
      const [head, element] = unflatten(k, index, [1, scope.whole(size)]);
      vectors.forEach((name, part) => {
        const value = k.load(name, name === "decay" && isPerHead ? asValue(k, head) : index);
        k.store("to", vectorAt(scope, { size, vectors }, head, part, element), value);
      });
    },
  };
}

/** Index of an element of vector `part` of a token and head. */
function vectorAt(scope: GpuScope, { size, vectors }: Pick<Sizes, "size" | "vectors">, head: Extent, part: number, element: Extent): U32 {
  const { k } = scope;
  const n = scope.whole(size);
  return asValue(k, offset(k, [head, part, element], stridesOf(k, [0, vectors.length, n])));
}

/** An element of the state that a lane keeps. */
interface Kept {
  readonly place: U32;
  readonly isInside: ReturnType<Emitter["not"]>;
  readonly value: { get(): F32; set(value: F32): void };
}

function walk(scope: GpuScope, group: U32, sizes: Sizes): void {
  const { k } = scope;
  const { size, vectors } = sizes;
  const [heads, channels] = [scope.whole(sizes.heads), scope.whole(sizes.channels)];
  const [h, channel] = unflatten(k, group, [1, channels]);
  const [tokens, states] = [scope.extent(sizes.tokens), scope.extent(sizes.state.shape[0] as Dim)];
  const lane = k.lane();
  const row = Array.from({ length: Math.ceil(size / k.lanes) }, (_, i): Kept => {
    const place = k.add(lane, i * k.lanes);
    return { place, isInside: k.compare("lt", place, scope.whole(size)), value: k.variable("f32", 0) };
  });
  const forEach = (visit: (element: Kept) => void): void => {
    for (const element of row) k.if(element.isInside, () => visit(element));
  };
  const reduce = k.reducer(["f32"]);
  const sum = (term: (element: Kept) => F32): F32 => {
    const own = k.variable("f32", 0);
    forEach((element) => own.set(k.add(own.get(), term(element))));
    return reduce([own.get()], ([left], [right]) => [k.add(left, right)])[0];
  };
  const stateAt = (of: U32, { place }: Kept): U32 =>
    asValue(k, offset(k, [of, h, channel, place], stridesOf(k, [0, heads, channels, size])));
  const last = k.variable("u32", 0xffffffff);
  k.forUniform(0, tokens, 1, (t) => {
    const { of, isFirst } = rowOfToken(k, t);
    const isInState = k.compare("lt", of, states);
    const isNew = k.compare("ne", of, last.get());
    last.set(of);
    forEach((element) => {
      k.if(k.both(isNew, isInState), () => element.value.set(k.load("state", stateAt(of, element))));
      k.if(k.either(isFirst, k.not(isInState)), () => element.value.set(k.constant("f32", 0)));
    });
    const head = offset(k, [t, h], [heads, 1]);
    const vector = (name: Sizes["vectors"][number], { place }: Kept): F32 =>
      k.load("vectors", vectorAt(scope, sizes, head, vectors.indexOf(name), place));
    const along = sum((element) => k.mul(element.value.get(), vector("a", element)));
    const at = asValue(k, offset(k, [head, channel], [channels, 1]));
    const added = k.load("v", at);
    forEach((element) => {
      const removed = k.fma(along, vector("b", element), k.mul(element.value.get(), vector("decay", element)));
      element.value.set(k.fma(added, vector("k", element), removed));
    });
    if (vectors.includes("q")) {
      const y = sum((element) => k.mul(element.value.get(), vector("q", element)));
      k.if(k.compare("eq", lane, 0), () => k.store("y", at, y));
    } else
      k.if(k.both(isInState, isRowEnd(k, t, tokens)), () =>
        forEach((element) => k.store("state", stateAt(of, element), element.value.get())),
      );
  });
}
