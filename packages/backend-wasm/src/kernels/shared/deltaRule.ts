import { type Operand, tupleOf } from "@centella/core/backend";
import {
  type Expr,
  type FunctionBuilder,
  f32x4,
  i32,
  type Local,
  type ModuleBuilder,
  threadIndex,
  type V128,
  v128,
} from "../../emit/index.ts";
import type { BuildContext, Run, Task } from "../../kernel.ts";
import { laneMask, laneSums } from "../../matmul/lanes.ts";
import { madd, type Target } from "../../target.ts";
import { storeLanes } from "./loops.ts";

const signature = {
  q: "i32",
  k: "i32",
  v: "i32",
  decay: "i32",
  a: "i32",
  b: "i32",
  state: "i32",
  y: "i32",
  positions: "i32",
  rows: "i32",
  tokens: "i32",
  states: "i32",
  heads: "i32",
  channels: "i32",
  size: "i32",
  decays: "i32",
  gives: "i32",
  keeps: "i32",
  threadScratch: "i32",
  begin: "i32",
  end: "i32",
} as const;

type Parameters = { readonly [K in keyof typeof signature]: Local<"i32"> };

/** Rows of a head's state that walk the tokens together. */
const rowsAtOnce = 4;

/**
 * Emits `deltaRule(…, begin, end)`: blocks `begin` to `end` of four rows of the heads' states, over all tokens. A block's rows wait in the
 * thread's scratch memory, which the nearest cache holds. Writes outputs if `gives` is 1, and the final states of sequences if `keeps`
 * is 1.
 */
export function emitDelta(module: ModuleBuilder, target: Target): void {
  module.function("deltaRule", signature, (f, p) => {
    const [block, h, channel, count] = f.locals("i32", 4);
    const blocks = f.let(blocksOf(p.channels));
    const rowBytes = f.let(rowBytesOf(p.size));
    const scratch = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, i32.mul(rowBytes, rowsAtOnce))));
    f.for(block, p.begin, p.end, 1, () => {
      f.set(h, i32.divU(block, blocks));
      f.set(channel, i32.mul(i32.sub(block, i32.mul(h, blocks)), rowsAtOnce));
      f.set(count, i32.sub(p.channels, channel));
      walkTokens(f, target, p, { h, channel, count, rowBytes, scratch });
    });
  });
}

const blocksOf = (channels: Expr<"i32">): Expr<"i32"> => i32.shrU(i32.add(channels, rowsAtOnce - 1), 2);
/** Whole vectors. */
const rowBytesOf = (size: Expr<"i32">): Expr<"i32"> => i32.shl(i32.shrU(i32.add(size, 3), 2), 4);

type Block = Readonly<Record<"h" | "channel" | "count" | "rowBytes" | "scratch", Local<"i32">>>;

function walkTokens(f: FunctionBuilder, target: Target, p: Parameters, block: Block): void {
  const { h, channel, count, rowBytes, scratch } = block;
  const [t, row, before, head] = f.locals("i32", 4);
  const keep = (): void => f.if(i32.and(p.keeps, i32.ltU(before, p.states)), () => copyRows(f, p, block, before, "toState"));
  const clear = (): void => f.memoryFill(scratch, 0, i32.mul(rowBytes, rowsAtOnce));
  f.setI32(before, -1);
  f.for(t, 0, p.tokens, 1, () => {
    f.set(row, i32.load(i32.add(p.rows, i32.shl(t, 2))));
    f.if(i32.ne(row, before), () => {
      keep();
      clear();
      f.if(i32.ltU(row, p.states), () => copyRows(f, p, block, row, "toScratch"));
      f.set(before, row);
    });
    f.if(i32.eqz(i32.load(i32.add(p.positions, i32.shl(t, 2)))), clear);
    f.set(head, i32.add(i32.mul(t, p.heads), h));
    const along = alongDirections(f, target, p, block, head);
    const values = f.let(v128.load(i32.add(p.v, i32.shl(i32.add(i32.mul(head, p.channels), channel), 2))));
    const outputs = update(f, target, p, block, head, along, values);
    f.if(p.gives, () => {
      const to = f.let(i32.add(p.y, i32.shl(i32.add(i32.mul(head, p.channels), channel), 2)));
      storeLanes(f, to, outputs, count);
    });
  });
  keep();
}

/** Copies the block's rows that exist between row `row` of the state and the scratch memory. */
function copyRows(
  f: FunctionBuilder,
  p: Parameters,
  { h, channel, count, rowBytes, scratch }: Block,
  row: Local<"i32">,
  way: "toState" | "toScratch",
): void {
  const bytes = f.let(i32.shl(p.size, 2));
  const first = i32.add(i32.mul(i32.add(i32.mul(row, p.heads), h), p.channels), channel);
  const stored = f.let(i32.add(p.state, i32.mul(first, bytes)));
  for (let r = 0; r < rowsAtOnce; r++) {
    f.if(i32.gtU(count, r), () => {
      const [inState, inScratch] = [i32.add(stored, i32.mul(bytes, r)), i32.add(scratch, i32.mul(rowBytes, r))];
      if (way === "toState") f.memoryCopy(inState, inScratch, bytes);
      else f.memoryCopy(inScratch, inState, bytes);
    });
  }
}

/** `s · a` of the four rows. */
function alongDirections(f: FunctionBuilder, target: Target, p: Parameters, block: Block, head: Local<"i32">): Local<"v128"> {
  const sums = f.locals("v128", rowsAtOnce);
  for (const sum of sums) f.set(sum, v128.zero());
  const from = f.let(rowAt(p.a, head, p.size));
  forEachVectorOfRows(f, p, block, [from], (row, mask) => {
    const a = f.let(masked(v128.load(from), mask));
    for (const [r, sum] of sums.entries()) f.set(sum, madd(target, v128.load(row(r)), a, sum));
  });
  return laneSums(f, sums);
}

/** Replaces the four rows by `s · decay + along · b + v · k`, and returns their products with `q`. */
function update(
  f: FunctionBuilder,
  target: Target,
  p: Parameters,
  block: Block,
  head: Local<"i32">,
  along: Local<"v128">,
  values: Local<"v128">,
): Local<"v128"> {
  const splats = (x: Local<"v128">): Local<"v128">[] =>
    [0, 1, 2, 3].map((r) => f.let(f32x4.shuffle(x, x, [r, r, r, r] as [number, number, number, number])));
  const [alongs, added] = [splats(along), splats(values)];
  const sums = f.locals("v128", rowsAtOnce);
  for (const sum of sums) f.set(sum, v128.zero());
  const [q, k, b] = [f.let(rowAt(p.q, head, p.size)), f.let(rowAt(p.k, head, p.size)), f.let(rowAt(p.b, head, p.size))];
  const from = f.let(rowAt(p.decay, head, p.decays));
  const decay = f.let(v128.load32Splat(from));
  forEachVectorOfRows(f, p, block, [q, k, b, from], (row, mask) => {
    f.if(i32.ne(p.decays, 1), () => f.set(decay, masked(v128.load(from), mask)));
    const [toB, toK, toQ] = [f.let(masked(v128.load(b), mask)), f.let(masked(v128.load(k), mask)), f.let(masked(v128.load(q), mask))];
    sums.forEach((sum, r) => {
      const address = f.let(row(r));
      const removed = madd(target, alongs[r]!, toB, f32x4.mul(v128.load(address), decay));
      const s = f.let(madd(target, added[r]!, toK, removed));
      f.store(address, s);
      f.set(sum, madd(target, s, toQ, sum));
    });
  });
  return laneSums(f, sums);
}

const rowAt = (base: Local<"i32">, head: Local<"i32">, length: Local<"i32">): Expr<"i32"> =>
  i32.add(base, i32.shl(i32.mul(head, length), 2));

const masked = (x: V128, mask: Local<"v128"> | undefined): V128 => (mask === undefined ? x : v128.and(x, mask));

/**
 * Visits the rows four elements at a time, and the rest with a mask of the elements that exist. Advances `pointers`. Scratch
 * memory after a row is 0, and stays so.
 */
function forEachVectorOfRows(
  f: FunctionBuilder,
  p: Parameters,
  { rowBytes, scratch }: Block,
  pointers: readonly Local<"i32">[],
  body: (row: (r: number) => Expr<"i32">, mask: Local<"v128"> | undefined) => void,
): void {
  const at = f.let(scratch);
  const row = (r: number): Expr<"i32"> => (r === 0 ? at : i32.add(at, i32.mul(rowBytes, r)));
  const end = f.let(i32.add(scratch, i32.shl(i32.shrU(p.size, 2), 4)));
  f.while(i32.ltU(at, end), () => {
    body(row, undefined);
    for (const pointer of [at, ...pointers]) f.advance(pointer, 16);
  });
  const rest = f.let(i32.and(p.size, 3));
  f.if(rest, () => body(row, laneMask(f, rest)));
}

type Inputs = Readonly<Record<"k" | "v" | "decay" | "a" | "b" | "state" | "positions" | "rows", Operand>>;

/** Results: outputs of the queries, the states' next version, or both. */
interface Wanted {
  readonly outputs?: { readonly q: Operand; readonly y: Operand };
  readonly keeps?: boolean;
}

/** A step of `deltaScan`, `deltaScanWrite`, or both. */
export function deltaTask(
  { exports, max, maxThreads, reserve }: BuildContext,
  { k, v, decay, a, b, state, positions, rows }: Inputs,
  { outputs, keeps = false }: Wanted,
): Task {
  const fn = exports("deltaRule");
  const [, , largest] = tupleOf(max(k).shape, 3);
  reserve(maxThreads * rowsAtOnce * 16 * Math.ceil(largest / 4));
  return function* (run: Run) {
    const [tokens, heads, channels] = tupleOf(run.shape(v), 3);
    const [, , size] = tupleOf(run.shape(k), 3);
    const [, , decays] = tupleOf(run.shape(decay), 3);
    const [states] = tupleOf(run.shape(state), 4);
    // Without queries the products are made with the keys, and dropped.
    const [q, y] = outputs === undefined ? [run.address(k), 0] : [run.address(outputs.q), run.address(outputs.y)];
    const inputs = [q, run.address(k), run.address(v), run.address(decay), run.address(a), run.address(b), run.address(state), y];
    const extents = [tokens, states, heads, channels, size, decays];
    const flags = [Number(outputs !== undefined), Number(keeps)];
    const args = [...inputs, run.address(positions), run.address(rows), ...extents, ...flags, run.scratch];
    const work = Math.max(1, tokens * rowsAtOnce * size);
    const total = tokens === 0 ? 0 : heads * Math.ceil(channels / rowsAtOnce);
    yield { fn, args, total, grain: Math.max(1, Math.floor(2 ** 15 / work)) };
  };
}
