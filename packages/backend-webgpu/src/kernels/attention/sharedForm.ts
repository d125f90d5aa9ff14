import { elementAt } from "@centella/core/backend";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { maximum, range } from "../shared/shape.ts";
import type { AttentionCall } from "./attentionCall.ts";
import { type CacheElements, cacheElements, cacheWidth } from "./cacheElements.ts";

/** How the lanes of a workgroup share cached positions, and its query heads the keys and values that they read. */
export interface SharedForm {
  readonly cache: CacheElements;
  /** Elements of a key, and of a value. */
  readonly dK: number;
  readonly dV: number;
  /** Lanes of a workgroup. */
  readonly lanes: number;
  /** Lanes that exchange values in registers. */
  readonly subgroup: number;
  /**
   * Lanes that share a position, a power of two. They read a key or value in rounds: a round has {@link cacheWidth} neighbouring elements for each
   * lane. Some lanes have none in the last round.
   */
  readonly perPosition: number;
  /** Whether lanes keep their elements of queries in registers. Otherwise the workgroup's memory has the queries. */
  readonly keepsQueries: boolean;
  /** Query heads of a workgroup, all of one head of keys and values. */
  readonly heads: number;
  /** Most rows of queries of a workgroup: tokens times heads. */
  readonly mostRows: number;
  /** Bytes of the workgroup's memory in which subgroups join their sums. */
  readonly joinBytes: number;
}

/** Lanes that a position takes at least: neighbouring positions are not neighbours in memory. */
const leastLanes = 4;

const mostLanes = 256;

/** Most subgroups of a workgroup: each adds to the sums that are joined in the workgroup's memory. */
const mostSubgroups = 32;

/** Most floats of queries and sums that a lane keeps in registers. */
const mostFloats = 128;

/** Most rows of queries of a workgroup, and most query heads among them. */
const rowsAtOnce = 8;
const headsAtOnce = 4;

/** Most bytes of the workgroup's memory that sums take. */
const mostJoinBytes = 2 ** 14;

/**
 * The form for a call whose heads of the cache have `perKvHead` query heads each. Undefined without subgroups, for sizes that are no multiples of
 * 8 or below 32, and for sizes so large that registers and the workgroup's memory hold no two heads of queries.
 */
export function sharedFormOf(
  { inputs: [q, { dtype }], output: y }: AttentionCall,
  perKvHead: number,
  capabilities: Capabilities,
): SharedForm | undefined {
  const [dK, dV] = [maximum(elementAt(q.shape, 2)), maximum(elementAt(y.shape, 2))];
  const subgroup = subgroupLanes(capabilities);
  if ([dK, dV].some((size) => size % cacheWidth !== 0 || size < leastLanes * cacheWidth) || subgroup < leastLanes) return undefined;
  const lanes = Math.min(mostLanes, mostSubgroups * subgroup);
  const { perPosition, keepsQueries } = lanesFor(dK, dV, subgroup, headsOf(perKvHead, headsAtOnce) ?? 1);
  const [keyRounds, valueRounds] = [roundsOf(dK, perPosition), roundsOf(dV, perPosition)];
  const floats = cacheWidth * (keepsQueries ? keyRounds + valueRounds : valueRounds);
  const queryBytes = keepsQueries ? 0 : 4 * keyRounds * perPosition * cacheWidth;
  // Sums are joined a round at a time where the workgroup's memory has no more.
  const leastJoinBytes = joinBytesOf(lanes / subgroup, perPosition * cacheWidth);
  const inMemory = queryBytes === 0 ? rowsAtOnce : Math.floor((capabilities.workgroupBytes - leastJoinBytes) / queryBytes);
  const mostRows = Math.min(rowsAtOnce, Math.floor(mostFloats / floats), inMemory);
  // Queries in the workgroup's memory are read for each position. Only fewer reads of the cache repay that.
  const heads = headsOf(perKvHead, Math.min(headsAtOnce, mostRows));
  if (heads === undefined || (heads === 1 && !keepsQueries)) return undefined;
  const joinBytes = Math.min(mostJoinBytes, capabilities.workgroupBytes - mostRows * queryBytes);
  return { cache: cacheElements(dtype), dK, dV, lanes, subgroup, perPosition, keepsQueries, heads, mostRows, joinBytes };
}

/** The largest number of heads, up to `most`, that divides a group of heads that share keys. Undefined if `most` is 0. */
function headsOf(perKvHead: number, most: number): number | undefined {
  return range(most)
    .map((i) => most - i)
    .find((heads) => perKvHead % heads === 0);
}

/**
 * The lanes of a position. Of the numbers with which registers hold the queries and sums of `heads` heads, the one with the fewest reads, those
 * of idle lanes included.
 */
function lanesFor(dK: number, dV: number, subgroup: number, heads: number): Pick<SharedForm, "perPosition" | "keepsQueries"> {
  const rounds = (count: number): number => roundsOf(dK, count) + roundsOf(dV, count);
  const keeping = range(Math.log2(subgroup / leastLanes) + 1)
    .map((bit) => subgroup / 2 ** bit)
    .filter((count) => heads * rounds(count) * cacheWidth <= mostFloats);
  const [first, ...others] = keeping;
  if (first === undefined) return { perPosition: subgroup, keepsQueries: false };
  return { perPosition: others.reduce((a, b) => (b * rounds(b) < a * rounds(a) ? b : a), first), keepsQueries: true };
}

/** Rounds in which the lanes of a position read a key or value. */
export function roundsOf(size: number, perPosition: number): number {
  return Math.ceil(size / cacheWidth / perPosition);
}

/** Bytes of the workgroup's memory in which subgroups join `elements` of a row, its largest scores and its weights. */
export function joinBytesOf(subgroups: number, elements: number): number {
  return 4 * subgroups * (elements + 2);
}
