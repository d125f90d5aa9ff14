import { contentsOf, uniform } from "@centella/conformance";
import { createProgram, type DType, type ParamsOf } from "@centella/core";
import { completeParams, decode, ops } from "@centella/core/backend";
import { referenceOf } from "@centella/core/references";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

interface Form {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keyWidth: number;
  readonly valueWidth: number;
  readonly dtype: DType;
  readonly blockSize: number;
  readonly hasSinks: boolean;
  readonly params: Partial<ParamsOf<"attention">>;
}

const plain: Form = {
  heads: 4,
  kvHeads: 1,
  keyWidth: 32,
  valueWidth: 32,
  dtype: "f16",
  blockSize: 32,
  hasSinks: false,
  params: {},
};

/** Tokens of a run, by sequence: the lengths of the sequences with them. */
interface Run {
  readonly tokens: readonly number[];
  readonly lengths: readonly number[];
  /** Positions of each sequence whose blocks are in the cache. Default: all. */
  readonly stored?: number;
  /** A token of a sequence that does not exist. Default: none. */
  readonly lost?: number;
  /** Whether the slots after the last position of each sequence are NaN, for the first of several runs. */
  readonly hasStale?: boolean;
}

/** Runs attention on the interpreter and on the reference; returns the largest difference of each run, NaN for a NaN. */
async function differences(
  { heads, kvHeads, keyWidth, valueWidth, dtype, blockSize, hasSinks, params }: Form,
  runs: readonly Run[],
  capability?: readonly [number, number],
): Promise<readonly number[]> {
  const backend = new CudaBackend(new InterpretedDriver(capability));
  const program = createProgram();
  const sequences = Math.max(...runs.map(({ lengths }) => lengths.length));
  const maxBlocks = Math.ceil(Math.max(...runs.flatMap(({ lengths }) => lengths)) / blockSize);
  const slots = sequences * maxBlocks * blockSize;
  const most = Math.max(...runs.map(({ tokens }) => tokens.reduce((a, b) => a + b)));
  const [T, N] = [program.dim("T", most), program.dim("N", sequences)];
  const cacheSpec = { dtype, shape: [slots, kvHeads, keyWidth + valueWidth] };
  const { stored } = contentsOf(cacheSpec, 5);
  if (runs[0]!.hasStale === true) {
    const halves = new Uint16Array(stored.buffer, stored.byteOffset, stored.byteLength / 2);
    const row = kvHeads * (keyWidth + valueWidth);
    for (const [s, length] of runs[0]!.lengths.entries()) {
      const last = sequences * maxBlocks - 1 - s * maxBlocks - Math.floor(length / blockSize);
      halves.fill(0x7e00, (last * blockSize + (length % blockSize)) * row, (last + 1) * blockSize * row);
    }
  }
  const inputs = [
    program.input("q", "f32", [T, heads, keyWidth]),
    program.constant(stored, dtype, cacheSpec.shape),
    program.input("positions", "i32", [T]),
    program.input("seqOf", "i32", [T]),
    program.input("blockTable", "i32", [N, maxBlocks]),
    program.input("seqLens", "i32", [N]),
  ] as const;
  const options = { scale: 1 / Math.sqrt(keyWidth), blockSize, activations: "half", ...params } as const;
  const sinks = hasSinks ? uniform(9, heads) : undefined;
  const further = sinks === undefined ? {} : { sinks: program.constant(sinks, "f32", [heads]) };
  program.output("y", program.attention(...inputs, { ...options, ...further }));
  const plan = await backend.compile(program);
  const found: number[] = [];
  for (const { tokens, lengths, stored: inCache = Number.POSITIVE_INFINITY, lost = -1 } of runs) {
    const seqOf = Int32Array.from(tokens.flatMap((count, sequence) => new Array<number>(count).fill(sequence)));
    const positions = Int32Array.from(tokens.flatMap((count, s) => Array.from({ length: count }, (_, i) => lengths[s]! - count + i)));
    const q = uniform(seqOf.length, seqOf.length * heads * keyWidth);
    // Blocks from the last one to the first one.
    const blockTable = Int32Array.from({ length: lengths.length * maxBlocks }, (_, i) => lengths.length * maxBlocks - 1 - i);
    const given = blockTable.map((block, i) => ((i % maxBlocks) * blockSize < inCache ? block : 100_000));
    const sequencesOf = seqOf.map((sequence, t) => (t === lost ? 100_000 : sequence));
    const y = plan.run({ q, positions, seqOf: sequencesOf, blockTable: given, seqLens: Int32Array.from(lengths) }).y!;
    const got = await y.data();
    const tensor = <D extends Float32Array | Int32Array>(data: D, ...shape: readonly number[]) => ({
      spec: { dtype: data instanceof Int32Array ? ("i32" as const) : ("f32" as const), shape },
      data,
    });
    const want = tensor(new Float32Array(seqOf.length * heads * valueWidth), seqOf.length, heads, valueWidth);
    const cache = { spec: cacheSpec, data: decode(cacheSpec, stored) };
    referenceOf(ops.attention)(
      [
        tensor(q, seqOf.length, heads, keyWidth),
        cache,
        tensor(positions, seqOf.length),
        tensor(seqOf, seqOf.length),
        tensor(blockTable, lengths.length, maxBlocks),
        tensor(
          Int32Array.from(lengths, (length) => Math.min(length, inCache)),
          lengths.length,
        ),
        sinks && tensor(sinks, heads),
      ],
      completeParams(ops.attention, options) as ParamsOf<"attention">,
      want,
    );
    expect(got.length).toBe(want.data.length);
    const row = heads * valueWidth;
    if (lost >= 0) want.data.fill(0, lost * row, (lost + 1) * row);
    found.push(want.data.reduce((most, value, i) => Math.max(most, Math.abs(value - got[i]!)), 0));
  }
  await backend.dispose();
  return found;
}

const plainName = "a group of four";

const forms: readonly (readonly [string, Partial<Form>])[] = [
  [plainName, {}],
  ["heads of their own, f32", { heads: 2, kvHeads: 2, dtype: "f32" }],
  ["a group of eight, q8_0", { heads: 8, dtype: "q8_0", keyWidth: 64, valueWidth: 64 }],
  ["blocks that are no multiple of a tile", { heads: 3, blockSize: 20 }],
  ["a window and sinks", { hasSinks: true, params: { window: 40 } }],
  ["a soft cap and ALiBi", { params: { softcap: 2, alibi: 8 } }],
];

const furtherForms: typeof forms = [
  ["a group of seventeen", { heads: 17 }],
  ["sizes of 80 and 48", { heads: 2, keyWidth: 80, valueWidth: 48 }],
  ["values in two blocks", { heads: 2, keyWidth: 256, valueWidth: 256 }],
  ["sizes beyond what is read ahead", { heads: 2, keyWidth: 192, valueWidth: 128 }],
  ["heads of 128, q8_0 and a window", { dtype: "q8_0", keyWidth: 128, valueWidth: 128, params: { window: 40 } }],
  ["not causal", { heads: 2, kvHeads: 2, params: { causal: false } }],
  ["not causal, ALiBi", { heads: 2, params: { causal: false, alibi: 8 } }],
  ["a negative scale", { heads: 1, params: { scale: -0.3 } }],
];

/** Of scores of up to 4 that are off by 2^-10, and values of up to 1. */
const limit = 4e-3;

/** Lengths within a part, across tiles and parts, and of sequences that share a run; a query that sees nothing. */
const few: readonly Run[] = [
  { tokens: [1], lengths: [1] },
  { tokens: [1], lengths: [1300] },
  { tokens: [2, 1, 1], lengths: [17, 530, 33] },
  { tokens: [1, 1], lengths: [0, 20] },
];

describe("few tokens of a sequence", () => {
  test.each([...forms, ...furtherForms])("%s", async (name, form) => {
    const runs = name === plainName ? few : few.slice(2, 3);
    for (const difference of await differences({ ...plain, ...form }, runs)) expect(difference).toBeLessThan(limit);
  });
});

const many: readonly Run[] = [{ tokens: [65], lengths: [65] }];
/** Tokens of several blocks, at the end of a text of several stages. */
const long: readonly Run[] = [{ tokens: [40], lengths: [300] }];
/** Tiles of several stages, of which the last one has few or many positions, and tiles of one. */
const tiles: readonly Run[] = [150, 17, 230].map((length) => ({ tokens: [17], lengths: [length] }));
/** Sequences whose tokens share blocks. */
const mixed: readonly Run[] = [{ tokens: [19, 1, 0, 13], lengths: [40, 80, 0, 13] }];
/** The same, and fewer tokens and sequences than their variant is for. */
const fewer: readonly Run[] = [
  ...mixed,
  { tokens: [90, 13, 1, 0], lengths: [90, 13, 30, 0] },
  { tokens: [30, 1, 34], lengths: [30, 50, 70] },
];

describe("many tokens of a sequence", () => {
  test("values in two blocks", async () => {
    const wide = { ...plain, heads: 2, keyWidth: 256, valueWidth: 256 };
    for (const dtype of ["f16", "f32"] as const) {
      const [difference] = await differences({ ...wide, dtype }, [{ tokens: [17], lengths: [40] }]);
      expect(difference).toBeLessThan(limit);
    }
  });

  test("one sequence", async () => {
    for (const difference of await differences(plain, many)) expect(difference).toBeLessThan(limit);
  });

  test.each<readonly [string, Partial<Form>, readonly Run[]]>([
    ["heads of 64", { keyWidth: 64, valueWidth: 64 }, long],
    ["heads of 64, more tiles than blocks", { heads: 8, kvHeads: 8, keyWidth: 64, valueWidth: 64 }, tiles],
    ["heads of 64, several sequences", { keyWidth: 64, valueWidth: 64 }, fewer],
    ["heads of 128 and 64, a window and sinks", { keyWidth: 128, valueWidth: 64, hasSinks: true, params: { window: 150 } }, long],
    ["heads of 128, a window and a soft cap", { keyWidth: 128, valueWidth: 128, params: { window: 150, softcap: 2 } }, tiles],
    ["heads of 64 and 128, growing scores, ALiBi", { keyWidth: 64, valueWidth: 128, params: { scale: 3, alibi: 8 } }, long],
  ])("warpgroups: %s", async (_name, form, runs) => {
    for (const difference of await differences({ ...plain, ...form }, runs)) expect(difference).toBeLessThan(limit);
  });

  test.each(forms)("several sequences: %s", async (_name, form) => {
    for (const difference of await differences({ ...plain, ...form }, mixed)) expect(difference).toBeLessThan(limit);
  });
});

// Devices without warpgroups, of which 8.6 has less shared memory.
describe.each([[[8, 0]], [[8, 6]]] as const)("compute capability %j", (capability) => {
  test.each<readonly [string, Partial<Form>, readonly Run[]]>([
    ["few tokens", {}, few.slice(2, 3)],
    ["few tokens, q8_0, a window and sinks", { dtype: "q8_0", hasSinks: true, params: { window: 40 } }, few.slice(2, 3)],
    ["many tokens, heads of 64", { heads: 2, keyWidth: 64, valueWidth: 64 }, long],
    ["many tokens, heads of 128", { heads: 2, keyWidth: 128, valueWidth: 128, params: { softcap: 2 } }, [{ tokens: [17], lengths: [70] }]],
    [
      "many tokens, q8_0 and heads of 256",
      { heads: 2, dtype: "q8_0", keyWidth: 256, valueWidth: 256, params: { window: 20 } },
      [{ tokens: [17], lengths: [40] }],
    ],
    ["several sequences", { params: { alibi: 8 } }, mixed],
  ])("%s", async (_name, form, runs) => {
    for (const difference of await differences({ ...plain, ...form }, runs, capability)) expect(difference).toBeLessThan(limit);
  });
});

// Positions without a slot in the cache are not seen.
test.each<readonly [string, Partial<Form>, Run]>([
  ["one token", {}, { tokens: [1], lengths: [100], stored: 64 }],
  ["one token, blocks that are no multiple of a tile", { blockSize: 20 }, { tokens: [1], lengths: [100], stored: 60 }],
  ["many tokens", {}, { tokens: [33], lengths: [100], stored: 64 }],
  ["many tokens on warpgroups", { keyWidth: 64, valueWidth: 64 }, { tokens: [33], lengths: [200], stored: 64 }],
])("blocks beyond the cache: %s", async (_name, form, run) => {
  const [difference] = await differences({ ...plain, ...form, params: { causal: false } }, [run]);
  expect(difference).toBeLessThan(limit);
});

// What an earlier sequence has left in the last block does not matter, also if it is NaN.
test.each<readonly [string, Partial<Form>, Run]>([
  ["one token", {}, { tokens: [1], lengths: [100] }],
  ["many tokens", {}, { tokens: [33], lengths: [100] }],
  ["many tokens on warpgroups", { keyWidth: 64, valueWidth: 64 }, { tokens: [33], lengths: [140] }],
  ["many tokens on warpgroups, large blocks", { keyWidth: 64, valueWidth: 64, blockSize: 128 }, { tokens: [20, 17], lengths: [140, 17] }],
])("stale positions: %s", async (_name, form, run) => {
  const [difference] = await differences({ ...plain, ...form }, [{ ...run, hasStale: true }]);
  expect(difference).toBeLessThan(limit);
});

// A token of a sequence that does not exist sees nothing.
test.each<readonly [string, Partial<Form>, Run]>([
  ["few tokens", {}, { tokens: [3], lengths: [40], lost: 1 }],
  ["many tokens", {}, { tokens: [33], lengths: [100], lost: 0 }],
  ["many tokens on warpgroups", { keyWidth: 64, valueWidth: 64 }, { tokens: [33], lengths: [200], lost: 0 }],
  ["many tokens of two sequences", {}, { tokens: [20, 12], lengths: [40, 40], lost: 22 }],
  ["many tokens of two sequences on warpgroups", { keyWidth: 64, valueWidth: 64 }, { tokens: [12, 16], lengths: [20, 150], lost: 20 }],
])("a token without a sequence: %s", async (_name, form, run) => {
  const [difference] = await differences({ ...plain, ...form }, [run]);
  expect(difference).toBeLessThan(limit);
});
