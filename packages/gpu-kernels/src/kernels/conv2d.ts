import type { Dim, ParamsOf } from "@centella/core";
import { elementAt, tupleOf } from "@centella/core/backend";
import type { Bool, F32, U32, Variable } from "../emitter.ts";
import { asValue, divide, type Extent, isBelow, plus, product, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, type GpuScope, input, mostElements, output } from "../kernel.ts";

/** What a lane computes: some channels of some pixels. A weight serves all pixels, and an element of the image all channels. */
interface Share {
  readonly channels: number;
  readonly pixels: number;
}

/** The largest first. */
const shares: readonly Share[] = [
  { channels: 16, pixels: 4 },
  { channels: 16, pixels: 2 },
  { channels: 8, pixels: 2 },
  { channels: 8, pixels: 1 },
  { channels: 4, pixels: 1 },
  { channels: 2, pixels: 1 },
];

/** Number of lanes that keeps a device busy. With more outputs than this, each lane has a larger share. */
const enoughLanes = 2 ** 17;

/** Products of a lane's loop over channels, so that loads of several channels overlap where a lane has a small share. */
const enoughProducts = 96;
const mostChannelsAtOnce = 4;

/** Columns of weights up to which each has a text of its own. */
const mostWritten = 7;

/** The largest share of `channels` that leaves enough lanes. Only images of known extents are divided into several pixels per lane. */
function shareFor(channels: Dim, results: number, isKnown: boolean): Share {
  const fitting = shares.filter(
    (share) => typeof channels === "number" && channels % share.channels === 0 && (isKnown || share.pixels === 1),
  );
  const alone = { channels: 1, pixels: 1 };
  return fitting.find((share) => results / share.channels / share.pixels >= enoughLanes) ?? fitting.at(-1) ?? alone;
}

/** Returns the channels of the image that a turn of a lane's loop adds, for `products` of each channel. */
function channelsAtOnce(channels: Dim, products: number): number {
  let count = mostChannelsAtOnce;
  while (count > 1 && (typeof channels !== "number" || channels % count !== 0 || count * products > enoughProducts)) count /= 2;
  return count;
}

type Params = ParamsOf<"conv2d">;
type Call = Parameters<GpuKernelOf<"conv2d">["steps"]>[0];

/** How the lanes divide a call's results. */
interface Division {
  readonly share: Share;
  /** Blocks of channels, and lanes that share the pixels of one. */
  readonly blocks: Dim;
  readonly lanes: readonly Dim[];
}

function divisionOf({ output: { shape }, bucket }: Call, { groups }: Params): Division {
  const [, filters, ...area] = tupleOf(shape, 4);
  const isKnown = area.every((dim) => typeof dim === "number");
  const share = shareFor(typeof filters === "number" ? filters / groups : filters, mostElements(shape, bucket), isKnown);
  return {
    share,
    blocks: typeof filters === "number" ? filters / share.channels : filters,
    lanes: isKnown ? [Math.ceil(mostElements(area) / share.pixels)] : area,
  };
}

/** A lane computes several channels of several pixels. Operands come from memory and its caches. */
export const conv2d: GpuKernelOf<"conv2d"> = {
  steps: (call, params) => {
    const division = divisionOf(call, params);
    return [
      {
        kind: "each",
        name: "",
        args: { x: input(call, 0), w: input(call, 1), y: output(call) },
        shape: [elementAt(call.output.shape, 0), division.blocks, ...division.lanes],
        body: (scope, index) => convolve(scope, call, params, division, index),
      },
    ];
  },
};

/** Computes and stores the results of a lane. */
function convolve(scope: GpuScope, call: Call, params: Params, { share, blocks, lanes }: Division, index: U32): void {
  const { k } = scope;
  const [images, filters, ...area] = tupleOf(call.output.shape, 4);
  const lanesPerBlock = product(k, scope.extents(lanes));
  const [image, block, lane] = unflatten(k, index, [scope.extent(images), scope.extent(blocks), lanesPerBlock]);
  const channel = times(k, block, share.channels);
  const [group] = divide(k, channel, divide(k, scope.extent(filters), scope.whole(params.groups))[0]);
  const results = product(k, scope.extents(area));
  const pixels = Array.from({ length: share.pixels }, (_, i) => plus(k, lane, times(k, i, lanesPerBlock)));
  const places = pixels.map((pixel) => unflatten(k, pixel, scope.extents(tupleOf(area, 2))));
  const sums = pixels.map(() => Array.from({ length: share.channels }, () => k.variable("f32", 0)));
  addWindows(scope, call, params, { image, group, channel, places, sums });
  pixels.forEach((pixel, p) => {
    const storeAll = (): void => {
      const first = plus(k, times(k, timesPlus(k, image, scope.extent(filters), channel), results), pixel);
      elementAt(sums, p).forEach((sum, f) => void k.store("y", asValue(k, timesPlus(k, f, results, first)), sum.get()));
    };
    if (p === 0) storeAll();
    else k.if(isBelow(k, pixel, results), storeAll);
  });
}

/** The results of a lane: `sums` by pixel and channel, from channel `channel` on, and the rows and columns of the pixels. */
interface Results {
  readonly image: Extent;
  /** The group of the channels. */
  readonly group: Extent;
  readonly channel: Extent;
  readonly places: readonly (readonly [row: Extent, column: Extent])[];
  readonly sums: readonly (readonly Variable<"f32">[])[];
}

/** Adds the products of the pixels' windows with the weights of the channels. */
function addWindows(scope: GpuScope, { inputs: [x, w] }: Call, params: Params, { image, group, channel, places, sums }: Results): void {
  const { k } = scope;
  const [, , height, width] = scope.extents(tupleOf(x.shape, 4));
  const [, channels, rows, columns] = scope.extents(tupleOf(w.shape, 4));
  const plane = times(k, height, width);
  const firstPlane = times(k, timesPlus(k, image, times(k, channels, scope.whole(params.groups)), times(k, group, channels)), plane);
  const window = times(k, rows, columns);
  const perFilter = times(k, channels, window);
  const firstWeight = times(k, channel, perFilter);
  const filters = elementAt(sums, 0);
  const addCells = (cells: readonly Cell[], planeAt: Extent, weightAt: Extent): void => {
    const weights = filters.map((_, f) => k.load("w", asValue(k, timesPlus(k, f, perFilter, weightAt))));
    cells.forEach(({ at, isInside }, p) => {
      const value = k.select(isInside, k.load("x", asValue(k, plus(k, planeAt, at))), 0);
      elementAt(sums, p).forEach((sum, f) => void sum.set(k.fma(value, elementAt<F32>(weights, f), sum.get())));
    });
  };
  k.for(0, asValue(k, rows), 1, (i) => {
    const cellsOf = rowOfCells(scope, params, { height, width }, places, i);
    const addChannels = (cells: readonly (readonly [Extent, readonly Cell[]])[]): void => {
      const atOnce = channelsAtOnce(elementAt(w.shape, 1), filters.length * places.length * cells.length);
      k.for(0, asValue(k, channels), atOnce, (first) => {
        for (let own = 0; own < atOnce; own++) {
          const c = own === 0 ? first : k.add(first, own);
          const planeAt = timesPlus(k, c, plane, firstPlane);
          const weightAt = plus(k, firstWeight, timesPlus(k, c, window, times(k, i, columns)));
          for (const [j, each] of cells) addCells(each, planeAt, plus(k, weightAt, j));
        }
      });
    };
    const last = elementAt(w.shape, 3);
    if (typeof last === "number" && last <= mostWritten) addChannels(Array.from({ length: last }, (_, j) => [j, cellsOf(j)]));
    else k.for(0, asValue(k, columns), 1, (j) => addChannels([[j, cellsOf(j)]]));
  });
}

/** An element of an image, by its place in the plane of a channel: 0 outside. */
interface Cell {
  readonly at: U32;
  readonly isInside: Bool;
}

/** The elements of row `i` of the windows of pixels, by column. Places before the image wrap to beyond every extent: one comparison tests both borders. */
function rowOfCells(
  scope: GpuScope,
  { stride, dilation, padding }: Params,
  { height, width }: { readonly height: Extent; readonly width: Extent },
  places: Results["places"],
  i: U32,
): (j: Extent) => readonly Cell[] {
  const { k } = scope;
  const placeOf = (out: Extent, axis: 0 | 1, step: Extent): U32 => {
    const at = timesPlus(k, out, scope.whole(stride[axis]), times(k, step, scope.whole(dilation[axis])));
    return k.sub(asValue(k, at), scope.whole(padding[axis]));
  };
  const starts = places.map(([row]) => {
    const y = placeOf(row, 0, i);
    return { isInside: isBelow(k, y, height), at: times(k, y, width) };
  });
  return (j) =>
    starts.map((start, p) => {
      const z = placeOf(elementAt(places, p)[1], 1, j);
      const isInside = k.both(start.isInside, isBelow(k, z, width));
      return { isInside, at: k.select(isInside, asValue(k, plus(k, start.at, z)), 0) };
    });
}
