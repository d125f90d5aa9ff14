import type { DimValues, Shape, SymbolicDim, Value } from "@centella/core";
import { elementAt, ops } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { type Draft, precisionOf } from "./randomDraft.ts";
import { type Family, projected } from "./randomFamilies.ts";
import { arithmetic, type Candidate, impossible } from "./randomOps.ts";

/** Extents of attention: two sequences of up to 16 tokens, in blocks of 4 slots. */
const [heads, kvHeads, keySize, valueSize] = [4, 2, 16, 16];
const [blockSize, blocksPerSequence] = [4, 4];
const slots = 2 * blocksPerSequence * blockSize;
/** Upper bound of a sequence's tokens over all runs. */
const longest = blocksPerSequence * blockSize;

/** Inputs of every run that give each token's sequence and position. */
interface Tokens {
  readonly positions: Value;
  readonly slots: Value;
  readonly sequences: Value;
  readonly blockTable: Value;
  readonly lengths: Value;
  readonly rows: Value;
}

/** A cache's newest version. */
interface Cache {
  ref: Value;
}

/** Families of ops with state between runs: attention over a cache, recurrent layers; and experts. */
export function stateFamilies(draft: Draft, T: SymbolicDim, counts: readonly number[]): readonly Family[] {
  const tokens = declareTokens(draft, T, counts);
  const dtype = draft.oneOf(["f32", "f16", "q8_0"] as const);
  const cache: Cache = { ref: draft.state(dtype, [slots, kvHeads, keySize + valueSize]) };
  const k = draft.input("k", "f32", [T, kvHeads, keySize], 1);
  const v = draft.input("v", "f32", [T, kvHeads, valueSize], 1);
  const write: Family = () => written(draft, cache, tokens, [k, v]);
  const attend: Family = () => attended(draft, cache, tokens, T);
  const rotate: Family = () => rotated(draft, tokens, T);
  const convolve: Family = () => recurrentConvolution(draft, tokens, T);
  const scan: Family = () => selectiveScan(draft, tokens, T);
  const forget: Family = () => deltaScan(draft, tokens, T);
  const expert: Family = () => experts(draft, T);
  return [write, attend, attend, rotate, convolve, scan, forget, expert, expert];
}

/** In each run, the first half of the tokens continues sequence 0, the second half sequence 1. */
function declareTokens(draft: Draft, T: SymbolicDim, counts: readonly number[]): Tokens {
  const order = Array.from({ length: 2 * blocksPerSequence }, (_, i) => (5 * i + 3) % (2 * blocksPerSequence));
  const split = (count: number): readonly [number, number] => [Math.ceil(count / 2), Math.floor(count / 2)];
  const before = (run: number, sequence: number): number =>
    counts.slice(0, run).reduce((sum, count) => sum + elementAt(split(count), sequence), 0);
  const perToken = (of: (sequence: number, position: number) => number) => (dims: DimValues, run: number) => {
    const tokens = named(dims, "T");
    const [first] = split(tokens);
    return Int32Array.from({ length: tokens }, (_, t) => {
      const sequence = t < first ? 0 : 1;
      return of(sequence, before(run, sequence) + (sequence === 0 ? t : t - first));
    });
  };
  const slotOf = (sequence: number, position: number): number =>
    elementAt(order, sequence * blocksPerSequence + Math.floor(position / blockSize)) * blockSize + (position % blockSize);
  const lengths = (_: DimValues, run: number): Int32Array => Int32Array.of(before(run + 1, 0), before(run + 1, 1));
  return {
    positions: draft.table(
      "positions",
      [T],
      perToken((_, position) => position),
    ),
    slots: draft.table("slots", [T], perToken(slotOf)),
    sequences: draft.table(
      "sequences",
      [T],
      perToken((sequence) => sequence),
    ),
    blockTable: draft.table("blockTable", [2, blocksPerSequence], () => Int32Array.from(order)),
    lengths: draft.table("lengths", [2], lengths),
    rows: draft.table(
      "rows",
      [T],
      perToken((sequence) => 1 - sequence),
    ),
  };
}

/** Keys and values that are exact, whatever the cache rounds them to. */
function written(draft: Draft, cache: Cache, tokens: Tokens, exact: readonly [Value, Value]): Candidate {
  const { program } = draft;
  const changed = (x: Value): Value => draft.oneOf([() => x, () => program.relu(x), () => program.scale(x, { by: -0.5 })])();
  if (!draft.has(ops.kvWrite, [cache.ref, ...exact, tokens.slots])) return impossible;
  cache.ref = program.kvWrite(cache.ref, changed(exact[0]), changed(exact[1]), tokens.slots);
  // Calls read the cache through attention only, since other ops do not take its dtype.
  return impossible;
}

function attended(draft: Draft, cache: Cache, tokens: Tokens, T: SymbolicDim): Candidate {
  const { program } = draft;
  const x = draft.float(({ ref: { spec } }) => isRowPerToken(spec.shape, T));
  if (x === undefined) return impossible;
  const q = projected(draft, x, heads * keySize);
  const sinks = draft.draw(3) === 0 ? draft.weight("f32", [heads]) : undefined;
  const options = {
    blockSize,
    scale: 1 / keySize,
    causal: draft.draw(4) > 0,
    window: draft.oneOf([0, 0, 3]),
    softcap: draft.oneOf([0, 0, 2]),
    alibi: draft.oneOf([0, 0, 8]),
    ...(sinks && { sinks: sinks.ref }),
  };
  // In a q8_0 cache the largest element of a block may round up.
  const bound = 1.01;
  const { ref } = cache;
  return {
    bound,
    error: 2 * bound * bound * q.error + precisionOf("attention", bound),
    record: () => {
      const queries = program.reshape(q.record(), { shape: [T, heads, keySize] });
      const { positions, sequences, blockTable, lengths } = tokens;
      const y = program.attention(queries, ref, positions, sequences, blockTable, lengths, options);
      return draft.draw(2) === 0 ? y : program.reshape(y, { shape: [T, heads * valueSize] });
    },
  };
}

function rotated(draft: Draft, tokens: Tokens, T: SymbolicDim): Candidate {
  const { program } = draft;
  const x = draft.float(({ ref: { spec } }) => spec.shape.length === 3 && spec.shape[0] === T && spec.shape[2] === keySize);
  if (x === undefined) return impossible;
  const ropeType = draft.oneOf(["norm", "neox"] as const);
  const bound = 1.5 * x.bound;
  const error = 1.5 * x.error + precisionOf("rope", bound);
  return { bound, error, record: () => program.rope(x.ref, tokens.positions, { ropeType, dims: draft.oneOf([0, 8]) }) };
}

/** A recurrent layer that reads the state before or after writing its next version: programs contain both. */
function recurrentConvolution(draft: Draft, tokens: Tokens, T: SymbolicDim): Candidate {
  const { program } = draft;
  const x = draft.float((value) => isRowPerToken(value.ref.spec.shape, T) && !draft.isLasting(value));
  if (x === undefined) return impossible;
  const [channels, taps] = [x.ref.spec.shape[1] as number, 2 + draft.draw(3)];
  const state = draft.state("f32", [2, taps - 1, channels]);
  const filter = draft.weight("f32", [channels, taps]);
  const { positions, rows } = tokens;
  const isKept = draft.has(ops.ssmConvWrite, [state, x.ref, positions, rows]);
  return {
    bound: x.bound,
    error: x.error + (taps + 2) * arithmetic * x.bound,
    record: () => {
      const y = program.ssmConv(x.ref, filter.ref, state, positions, rows);
      if (isKept) program.ssmConvWrite(state, x.ref, positions, rows);
      return program.scale(y, { by: 1 / taps });
    },
  };
}

function selectiveScan(draft: Draft, tokens: Tokens, T: SymbolicDim): Candidate {
  const { program } = draft;
  const exact = draft.exact(({ ref: { spec }, bound }) => isRowPerToken(spec.shape, T) && bound <= 1 && (spec.shape[1] as number) >= 8);
  if (exact === undefined || draft.isLasting(exact)) return impossible;
  const [H, P, N, G] = draft.oneOf([
    [8, 1, 4, 1],
    [4, 2, 4, 2],
    [2, 4, 8, 1],
  ] as const);
  const part = (shape: readonly number[]): Value => {
    const count = shape.reduce((product, extent) => product * extent, 1);
    const start = draft.draw((exact.ref.spec.shape[1] as number) - count + 1);
    return program.reshape(program.slice(exact.ref, { axis: 1, start, end: start + count }), { shape: [T, ...shape] });
  };
  const state = draft.state("f32", [2, H, P, N]);
  const a = draft.weight("f32", [H, draft.oneOf([1, N])], { low: -1, high: 0 });
  const { positions, rows } = tokens;
  // Each token adds at most 1 to an element of the state.
  const by = 1 / (longest * N);
  return {
    bound: 1,
    error: 100 * precisionOf("ssmScan", 0.1),
    record: () => {
      const dt = program.sigmoid(part([H]));
      const [x, b, c] = [part([H, P]), part([G, N]), part([G, N])];
      const y = program.ssmScan(x, dt, a.ref, b, c, state, positions, rows);
      if (
        draft.has(ops.ssmScanWrite, [state, x, dt, a.ref, b, positions, rows]) &&
        draft.has(ops.ssmScan, [x, dt, a.ref, b, c, state, positions, rows])
      )
        program.ssmScanWrite(state, x, dt, a.ref, b, positions, rows);
      return program.scale(y, { by });
    },
  };
}

/** Keys of a length below 1 forget and add along one direction: an element of the state grows by at most 1 per token. */
function deltaScan(draft: Draft, tokens: Tokens, T: SymbolicDim): Candidate {
  const { program } = draft;
  const exact = draft.exact(({ ref: { spec }, bound }) => isRowPerToken(spec.shape, T) && bound <= 1 && (spec.shape[1] as number) >= 8);
  if (exact === undefined || draft.isLasting(exact)) return impossible;
  const [H, K, V] = draft.oneOf([
    [2, 4, 2],
    [1, 8, 3],
    [1, 5, 1],
  ] as const);
  const part = (shape: readonly number[]): Value => {
    const count = shape.reduce((product, extent) => product * extent, 1);
    const start = draft.draw((exact.ref.spec.shape[1] as number) - count + 1);
    return program.reshape(program.slice(exact.ref, { axis: 1, start, end: start + count }), { shape: [T, ...shape] });
  };
  const state = draft.state("f32", [2, H, V, K]);
  const { positions, rows } = tokens;
  return {
    bound: 1,
    error: 100 * precisionOf("deltaScan", 0.1),
    record: () => {
      const [q, k, v] = [part([H, K]), program.scale(part([H, K]), { by: 1 / K }), part([H, V])];
      const decay = program.sigmoid(part([H, draft.oneOf([1, K])]));
      const b = program.neg(k);
      const y = program.deltaScan(q, k, v, decay, k, b, state, positions, rows);
      if (
        draft.has(ops.deltaScanWrite, [state, k, v, decay, k, b, positions, rows]) &&
        draft.has(ops.deltaScan, [q, k, v, decay, k, b, state, positions, rows])
      )
        program.deltaScanWrite(state, k, v, decay, k, b, positions, rows);
      return program.scale(y, { by: 1 / (longest * K) });
    },
  };
}

/** Tokens through the experts that their logits choose, weighted and summed. */
function experts(draft: Draft, T: SymbolicDim): Candidate {
  const { program } = draft;
  const logits = draft.exact(({ ref: { spec } }) => isRowPerToken(spec.shape, T) && (spec.shape[1] as number) >= 4);
  const x = draft.float(({ ref: { spec } }) => isRowPerToken(spec.shape, T));
  if (logits === undefined || x === undefined) return impossible;
  const [E, K] = [logits.ref.spec.shape[1] as number, x.ref.spec.shape[1] as number];
  const groups = E % 4 === 0 ? draft.oneOf([1, 2]) : 1;
  const gating = draft.oneOf(["softmax", "sigmoid", "softmaxOfChosen"] as const);
  const k = 1 + draft.draw(2);
  const [N, types] = [4, K % 32 === 0 ? (["f32", "q8_0", "q4_0"] as const) : (["f32", "f16"] as const)];
  const w = draft.weight(draft.oneOf(types), [E, N, K]);
  const by = 1 / (K * w.bound);
  return {
    bound: k * x.bound,
    error: k * (x.error + (K + 2) * arithmetic * x.bound + x.bound * precisionOf("moeWeights", 1)),
    record: () => {
      const ids = program.moeRoute(logits.ref, { k, gating, groups });
      const weights = program.reshape(program.moeWeights(logits.ref, ids, { gating, normalize: gating === "softmax" }), {
        shape: [T, k, 1],
      });
      const y = program.scale(program.moeMatmul(x.ref, w.ref, ids), { by });
      return program.sum(program.mul(y, weights), { axis: 1 });
    },
  };
}

function isRowPerToken(shape: Shape, T: SymbolicDim): boolean {
  return shape.length === 2 && shape[0] === T && typeof shape[1] === "number" && shape[1] > 0;
}
