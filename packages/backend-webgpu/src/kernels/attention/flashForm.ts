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
  /** Query heads of a workgroup, all of one head of keys and values: it has `rows / heads` neighbouring tokens. */
  readonly heads: number;
  /** Rows of a lane, a multiple of 4. */
  readonly rowsPerLane: number;
  /** Positions whose values are in the workgroup's memory at once. */
  readonly valuesAtOnce: number;
}

/** Rows of queries in a tile. */
export const rows = 64;

/** Lanes that share a row. */
export const across = 16;

/** Cached positions of a tile. A lane has every sixteenth of them. */
export const positionsAtOnce = 128;
export const positionsPerLane: number = positionsAtOnce / across;

/** Elements of queries and keys that are in the workgroup's memory at once. */
export const depthAtOnce = 16;

/** Most elements of a value in a workgroup, and most sums of values of a lane. */
const mostElements = 256;
const mostSums = 64;

/** Positions whose values may be in memory at once. More make a text that instruction caches do not hold. */
const valueCounts = [16, 8];

/**
 * Vectors in a row of the workgroup's memory. Constants name the rows that lanes multiply and few places occur in these, so that neither computing
 * nor checking indices takes a lane's time. A row has one vector more than lanes share a row of queries: lanes with neighbouring positions then write
 * to different banks.
 */
export const tileWidth: number = across + 1;

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
  const rowsPerLane = 8 * Math.ceil(dV / valueParts / across) <= mostSums ? 8 : 4;
  const cache = cacheElements(dtype);
  const forms = valueCounts.map((valuesAtOnce): FlashForm => ({ cache, dK, dV, valueParts, heads, rowsPerLane, valuesAtOnce }));
  return forms.find((form) => bytesOf(form) <= workgroupBytes && lanesOf(form) <= maxLanes);
}

export function flashGroups(tokens: number, allHeads: number, { heads, valueParts }: FlashForm): number {
  return Math.ceil(tokens / (rows / heads)) * (allHeads / heads) * valueParts;
}

/** Lanes that share a position, and the distance between rows of a lane. */
export function downOf({ rowsPerLane }: FlashForm): number {
  return rows / rowsPerLane;
}

export function lanesOf(form: FlashForm): number {
  return across * downOf(form);
}

/** Defines the lane's place: `tx` of {@link across}, `ty` of {@link downOf}. Each 32 lanes are 8 by 4: they read the fewest different vectors. */
export const lanePlace = "let tx = lane % 8u + lane / 32u % 2u * 8u; let ty = lane / 8u % 4u + lane / 64u * 4u;";

/** Elements of a value in a workgroup. */
export function valueElements({ dV, valueParts }: FlashForm): number {
  return dV / valueParts;
}

/** The vectors of a value that a lane keeps: numbers from 0. */
export function ownVectors(form: FlashForm): readonly number[] {
  return range(Math.ceil(valueElements(form) / (4 * across)));
}

/** The vectors of four positions that a lane has of a row: numbers from 0. */
export const positionVectors: readonly number[] = range(positionsPerLane / 4);

/** The vectors of four rows of a lane: numbers from 0. */
export function rowVectors({ rowsPerLane }: FlashForm): readonly number[] {
  return range(rowsPerLane / 4);
}

/** Expression of the four values of vector `a` of {@link rowVectors}. */
export function fourRows(a: number, value: (i: number) => string): string {
  return `vec4f(${range(4)
    .map((i) => value(4 * a + i))
    .join(", ")})`;
}

/** The lane's vector `a` of four rows among those of `of`, an expression of a number, in the workgroup's memory. */
export function rowVectorAt(of: string | number, a: number, form: FlashForm): string {
  const place = a * downOf(form);
  return `tiles[${of}][ty${place === 0 ? "" : ` + ${place}u`}]`;
}

/** Rows of the workgroup's memory with a vector for each of `count` rows or positions. */
export function tileRowsOf(count: number): number {
  return count / across;
}

/** Rows of the workgroup's memory: queries and keys, then weights and values. */
export function tileRows(form: FlashForm): number {
  const scores = (depthAtOnce / 4) * (tileRowsOf(rows) + tileRowsOf(positionsAtOnce));
  return Math.max(scores, form.valuesAtOnce * (1 + ownVectors(form).length));
}

/** Bytes of the workgroup's memory: tiles, `places`, `gaps` and `spans`. */
function bytesOf(form: FlashForm): number {
  return 16 * tileWidth * tileRows(form) + 4 * (positionsAtOnce + 4 + 4 * rows);
}

/** Reads from the cache from element `at` of the place; zeros where there is no position. */
export function fetchText(name: string, position: string, at: string, { cache: { packed, packedAt } }: FlashForm): string {
  return `{ let place = places[${position}]; if (place != absent) { ${name} = ${packedAt(`place + ${at}`)}; } else { ${name} = ${packed}(); } }`;
}
