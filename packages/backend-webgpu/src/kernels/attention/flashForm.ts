import { elementAt } from "@centella/core/backend";
import type { KernelLimits } from "../../device/capabilities.ts";
import { maximum, range } from "../shared/shape.ts";
import type { AttentionCall } from "./attentionCall.ts";
import { type CacheElements, cacheElements, cacheWidth } from "./cacheElements.ts";

/** How a workgroup computes a tile of attention. */
export interface FlashForm {
  readonly cache: CacheElements;
  /** Elements of a key, and of a value. */
  readonly dK: number;
  readonly dV: number;
  /** Workgroups that share the elements of values. Each computes all scores. */
  readonly valueParts: number;
  /** Query heads of a workgroup, all of one head of keys and values. */
  readonly heads: number;
  /** Rows of queries: `rows / heads` neighbouring tokens. */
  readonly rows: number;
  /** Positions whose values are in the workgroup's memory at once. */
  readonly valuesAtOnce: number;
}

/** Cached positions of a tile. A lane has every sixteenth of them. */
export const positionsAtOnce = 64;
export const across = 16;
export const positionsPerLane: number = positionsAtOnce / across;

/** Elements of queries and keys that are in the workgroup's memory at once. */
export const depthAtOnce = 32;

/** Neighbouring rows of a lane. */
export const rowsPerLane = 4;

/** Lanes that share a row's softmax. */
export const sharers: number = across / rowsPerLane;

/** Most elements of a value in a workgroup: a lane keeps a sixteenth of the values of its rows. */
const mostElements = 256;

/** Elements of a position's weights beyond its rows: lanes with neighbouring positions then write to different banks. */
const padding = 1;

/** The largest form that fits a workgroup's memory; undefined if none does, or if keys and values are not whole reads of the cache. */
export function flashFormOf(
  { inputs: [q, { dtype }], output: y }: AttentionCall,
  perKvHead: number,
  { workgroupBytes, maxLanes }: KernelLimits,
): FlashForm | undefined {
  const [dK, dV] = [maximum(elementAt(q.shape, 2)), maximum(elementAt(y.shape, 2))];
  const valueParts = Math.ceil(dV / mostElements);
  if (dK % cacheWidth !== 0 || dV % (cacheWidth * valueParts) !== 0) return undefined;
  const heads = [8, 4, 2].find((count) => perKvHead % count === 0) ?? 1;
  const cache = cacheElements(dtype);
  const forms = [64, 32].flatMap((rows) =>
    [4, 8].map((turns): FlashForm => ({ cache, dK, dV, valueParts, heads, rows, valuesAtOnce: rows / turns })),
  );
  return forms.find((form) => bytesOf(form) <= workgroupBytes && lanesOf(form) <= maxLanes);
}

export function flashGroups(tokens: number, allHeads: number, { rows, heads, valueParts }: FlashForm): number {
  return Math.ceil(tokens / (rows / heads)) * (allHeads / heads) * valueParts;
}

export function lanesOf({ rows }: FlashForm): number {
  return (across * rows) / rowsPerLane;
}

/** Elements of a value in a workgroup. */
export function valueElements({ dV, valueParts }: FlashForm): number {
  return dV / valueParts;
}

/** The vectors of a value that a lane keeps: numbers from 0. */
export function ownVectors(form: FlashForm): readonly number[] {
  return range(Math.ceil(valueElements(form) / (4 * across)));
}

/** Elements of a position's weights in the workgroup's memory. */
export function weightStride({ rows }: FlashForm): number {
  return rows / 4 + padding;
}

/** Elements of the workgroup's memory, four floats each: queries and keys, then weights and values. */
export function tileFours(form: FlashForm): number {
  const scores = (depthAtOnce * (form.rows + positionsAtOnce)) / 4;
  const values = positionsAtOnce * weightStride(form) + (form.valuesAtOnce * valueElements(form)) / 4;
  return Math.max(scores, values);
}

/** Bytes of the workgroup's memory: tiles, `places`, `gaps`, `spans`, `factors` and `exchanged`. */
function bytesOf(form: FlashForm): number {
  return 16 * tileFours(form) + 4 * (positionsAtOnce + 4 + 5 * form.rows + lanesOf(form));
}

/** Reads from the cache from element `at` of the place; zeros where there is no position. */
export function fetchText(name: string, position: string, at: string, { cache: { packed, packedAt } }: FlashForm): string {
  return `{ let place = places[${position}]; if (place != absent) { ${name} = ${packedAt(`place + ${at}`)}; } else { ${name} = ${packed}(); } }`;
}
