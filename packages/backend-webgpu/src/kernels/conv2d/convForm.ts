import { elementAt } from "@centella/core/backend";
import { mostElements } from "@centella/gpu-kernels";
import type { KernelLimits } from "../../device/capabilities.ts";
import { range } from "../shared/shape.ts";
import { type ConvCall, type ConvTile, convTileBytes, lanesOf, sizesOf } from "./convTiles.ts";

/** Products of a call from which on tiles are faster than lanes that read memory themselves. */
const fewestProducts = 2 ** 23;

/** Elements of a kernel's channel up to which a tile's text has a part for each. */
const mostTaps = 64;

/** A tile for calls with many filters. */
interface Form extends Pick<ConvTile, "blocks" | "quads" | "chunk"> {
  readonly lanes: number;
  /** Workgroups from which on it is chosen. */
  readonly fewest: number;
}

/** The largest share of a lane first. */
const forms: readonly Form[] = [
  { lanes: 128, blocks: 2, quads: 4, chunk: 4, fewest: 1024 },
  { lanes: 256, blocks: 4, quads: 2, chunk: 8, fewest: 256 },
  { lanes: 256, blocks: 8, quads: 1, chunk: 8, fewest: 192 },
  { lanes: 256, blocks: 8, quads: 1, chunk: 16, fewest: 96 },
  { lanes: 128, blocks: 8, quads: 1, chunk: 16, fewest: 0 },
];

const pixels = 4;
const mostAcross = 8;

/** Returns the tile that computes a call, if tiles do. */
export function convTileFor(call: ConvCall, limits: KernelLimits): ConvTile | undefined {
  const { filters, channels, kernelRows, kernelColumns } = sizesOf(call);
  const taps = kernelRows * kernelColumns;
  const products = mostElements(call.y.shape) * channels * taps;
  if (filters < 4 || taps > mostTaps || products < fewestProducts) return undefined;
  const tiles = forms.map((form) => ({ ...tileOf(form, call), fewest: form.fewest }));
  const { fewest: _fewest, ...tile } = elementAt(
    tiles,
    tiles.findIndex((each) => groupsOf(each, call) >= each.fewest),
  );
  const chunk = range(tile.chunk)
    .map((i) => tile.chunk - i)
    .find((count) => channels % count === 0 && convTileBytes({ ...tile, chunk: count }, call) <= limits.workgroupBytes);
  return chunk === undefined || lanesOf(tile) > limits.maxLanes ? undefined : { ...tile, chunk };
}

function tileOf(form: Form, call: ConvCall): ConvTile {
  const { filters, rows, columns } = sizesOf(call);
  const blocks = Math.min(form.blocks, Math.ceil(filters / (4 * form.quads)));
  let across = mostAcross;
  while (across > 1 && (across / 2) * pixels >= columns) across /= 2;
  return { across, pixels, down: Math.min(rows, Math.floor(form.lanes / blocks / across)), blocks, quads: form.quads, chunk: form.chunk };
}

function groupsOf(tile: ConvTile, call: ConvCall): number {
  const { filters, rows, columns } = sizesOf(call);
  const perImage = Math.ceil(columns / (tile.across * tile.pixels)) * Math.ceil(rows / tile.down);
  const images = mostElements(call.y.shape.slice(0, 1)) * call.params.groups;
  return images * perImage * Math.ceil(filters / (4 * tile.blocks * tile.quads));
}
