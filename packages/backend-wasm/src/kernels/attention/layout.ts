import { type Expr, type FunctionBuilder, i32, type Local } from "../../emit/index.ts";
import { aligned } from "../shared/aligned.ts";
import { addressBytes, spareKeys } from "./cacheRow.ts";
import { type Pointer, partBytes } from "./parts.ts";
import { keyBlock, range, rangeBytes, scoreBytes, tileKeys } from "./tiles.ts";

/**
 * A thread's scratch starts with the number of positions without a slot, followed by these positions, and the addresses
 * of all rows.
 */
export const listAt: number = aligned(4 + 4 * keyBlock);
export const rangesAt: number = listAt + aligned(addressBytes * (keyBlock + spareKeys));

/** Offsets in a thread's scratch memory for up to `rows` queries. */
export interface ScratchLayout {
  /** Queries, interleaved by vectors within a tile. */
  readonly packed: number;
  readonly scores: number;
  /** The row of positions without a slot. */
  readonly zeros: number;
  /** Keys or values as f32. */
  readonly tile: number;
  readonly parts: number;
  readonly bytes: number;
}

export function scratchLayout(dK: number, dV: number, rows: number): ScratchLayout {
  const padded = (n: number): number => 32 * Math.ceil(n / 32);
  const packed = aligned(rangesAt + rangeBytes * rows);
  const scores = aligned(packed + 4 * padded(dK) * rows);
  const zeros = scores + scoreBytes * rows;
  const tile = zeros + 4 * (padded(dK) + padded(dV));
  const parts = tile + 4 * (tileKeys + spareKeys) * Math.max(padded(dK), padded(dV) + 32);
  return { packed, scores, zeros, tile, parts, bytes: aligned(parts + 2 * rows * partBytes(dV)) };
}

/** Parameters of all attention functions, in order: inputs, extents, options, and the layout of scratch memory. */
export const common = {
  q: "i32",
  cache: "i32",
  y: "i32",
  positions: "i32",
  seqOf: "i32",
  blockTable: "i32",
  seqLens: "i32",
  slopes: "i32",
  bias: "i32",
  reach: "i32",
  sinks: "i32",
  tokens: "i32",
  heads: "i32",
  kvHeads: "i32",
  dK: "i32",
  dV: "i32",
  slots: "i32",
  sequences: "i32",
  maxBlocks: "i32",
  blockSize: "i32",
  causal: "i32",
  window: "i32",
  scale: "f32",
  softcap: "f32",
  threadScratch: "i32",
  threadScratchBytes: "i32",
  packed: "i32",
  scores: "i32",
  zeros: "i32",
  tile: "i32",
  parts: "i32",
  queries: "i32",
} as const;

type Parameters = { readonly [K in keyof typeof common]: Local<(typeof common)[K]> };

const ofBlock = {
  scratch: "i32",
  to: "i32",
  first: "i32",
  last: "i32",
  sequence: "i32",
  kvHead: "i32",
  from: "i32",
  end: "i32",
  touched: "i32",
} as const;

/**
 * Tokens `first` to `last` (exclusive) of one sequence, and one cache head. Lines of `touched` heads are prefetched.
 */
export const blockSignature: typeof common & typeof ofBlock = { ...common, ...ofBlock };

/** Positions that a token of a sequence sees, as `from <= position < end`. Empty for sequences outside the table. */
export function emitVisible(
  f: FunctionBuilder,
  p: Parameters,
  token: Pointer,
  sequence: Pointer,
): { readonly position: Pointer; readonly from: Pointer; readonly end: Pointer } {
  const [position, from, end] = f.locals("i32", 3);
  f.set(position, i32.load(i32.add(p.positions, i32.shl(token, 2))));
  f.setI32(end, 0);
  f.if(i32.ltU(sequence, p.sequences), () => {
    const most = f.let(i32.mul(p.maxBlocks, p.blockSize));
    f.set(end, i32.load(i32.add(p.seqLens, i32.shl(sequence, 2))));
    f.set(end, i32.select(i32.ltS(end, most), end, most));
    const after = f.let(i32.add(position, 1));
    f.if(p.causal, () => f.set(end, i32.select(i32.ltS(end, after), end, after)));
  });
  f.set(from, i32.add(i32.sub(position, p.window), 1));
  f.set(from, i32.select(i32.and(i32.gtS(p.window, 0), i32.gtS(from, 0)), from, 0));
  return { position, from, end };
}

/** Number of vectors of `dV` values, rounded up to four. */
export function vectorsOf(dV: Pointer): Expr<"i32"> {
  return i32.shl(i32.shrU(i32.add(dV, 15), 4), 2);
}

/** Writes the {@link range}s of a block's queries. */
export function emitRanges(
  f: FunctionBuilder,
  p: { readonly [K in keyof typeof blockSignature]: Local<(typeof blockSignature)[K]> },
  group: Pointer,
  ranges: Pointer,
): void {
  const { from, end } = p;
  const [to, lo, hi, left] = [f.let(ranges), ...f.locals("i32", 3)];
  const token = f.let(p.first);
  f.while(i32.ltU(token, p.last), () => {
    const seen = emitVisible(f, p, token, p.sequence);
    f.set(lo, i32.select(i32.gtS(seen.from, from), seen.from, from));
    f.set(hi, i32.select(i32.ltS(seen.end, end), seen.end, end));
    f.set(hi, i32.select(i32.gtS(hi, lo), hi, lo));
    f.set(left, group);
    f.while(left, () => {
      f.store(to, i32.sub(lo, from), range.from);
      f.store(to, i32.sub(hi, from), range.end);
      f.store(to, i32.sub(lo, seen.position), range.distance);
      f.advance(to, rangeBytes);
      f.advance(left, -1);
    });
    f.advance(token, 1);
  });
}
