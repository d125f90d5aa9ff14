import { createProgram, type Dim, type OpRecorder, type Value } from "@centella/core";
import { type Lowered, lower } from "@centella/core/backend";
import { expect, test } from "vitest";
import { fusion, kernelTable } from "../../src/kernels/index.ts";
import { hopper } from "../../src/kernels/shared/gpu.ts";
import type { Launch } from "../../src/kernels/shared/kernel.ts";
import { planVariant, type VariantSource, variantSource } from "../../src/plan/variant.ts";
import { unitMatrix } from "../../src/weights/unitFormat.ts";

/** Layers of the same calls over `x [T, 64]`, whose rows `readRows` are read. */
function layers(count: number): OpRecorder {
  const program = createProgram();
  let x = program.input("x", "f32", [program.dim("T", 512), 64]);
  for (let i = 0; i < count; i++) {
    const norm = program.persistent(`norm ${i}`, { dtype: "f32", shape: [64] });
    const up = program.persistent(`up ${i}`, { dtype: "q8_0", shape: [128, 64] });
    const down = program.persistent(`down ${i}`, { dtype: "q8_0", shape: [64, 128] });
    const wide = program.silu(program.matmul(program.rmsNorm(x, norm, { eps: 1e-5 }), up, { transposeB: true }));
    x = program.add(x, program.matmul(wide, down, { transposeB: true }));
  }
  program.output("rows", program.embedding(x, program.input("readRows", "i32", [program.dim("nRead", 8)])));
  return program;
}

function sourceOf(program: OpRecorder): VariantSource {
  const lowered: Lowered = lower(program, "cuda", kernelTable.unsupported, { fusion });
  return variantSource(lowered, { gpu: hopper, unitsOf: () => undefined });
}

function launchesAt(source: VariantSource, dims: Readonly<Record<string, number>>): readonly Launch[] {
  return planVariant(source, dims, new Set()).launches.map(({ launch }) => launch);
}

test("the layers of a variant, and variants that differ in another dim, share the launches of a call", () => {
  const one = launchesAt(sourceOf(layers(1)), { T: 1, nRead: 1 });
  const source = sourceOf(layers(6));
  const first = launchesAt(source, { T: 1, nRead: 1 });
  expect(first.length).toBeGreaterThan(5 * (one.length - 1));
  // A norm of the input, and one of a sum, are different calls.
  expect(new Set(first).size).toBeLessThanOrEqual(one.length + 2);
  const second = launchesAt(source, { T: 2, nRead: 1 });
  expect(new Set(second).size).toBe(new Set(first).size);
  expect(second.some((launch) => first.includes(launch))).toBe(false);
  const third = launchesAt(source, { T: 2, nRead: 8 });
  expect(new Set(third.filter((launch) => !second.includes(launch))).size).toBe(1);
  expect(launchesAt(source, { T: 1, nRead: 1 })).toEqual(first);
});

test("prompts of several sequences share a text of attention, whatever the numbers of tokens and of sequences", () => {
  const program = createProgram();
  const [T, nSeq] = [program.dim("T", 1024), program.dim("nSeq", 16)];
  const ints = (name: string, ...shape: Dim[]): Value => program.input(name, "i32", shape);
  const cache = program.persistent("cache", { dtype: "f16", shape: [4096, 2, 256] });
  const q = program.sort(program.input("q", "f32", [T, 8, 128]));
  const places = [ints("positions", T), ints("seqOf", T), ints("blockTable", nSeq, 64), ints("seqLens", nSeq)] as const;
  program.output("y", program.attention(q, cache, ...places, { scale: 0.125, blockSize: 64, activations: "half" }));
  const source = sourceOf(program);
  const [first, ...others] = [
    { T: 128, nSeq: 2 },
    { T: 256, nSeq: 2 },
    { T: 128, nSeq: 8 },
  ].map((dims) => launchesAt(source, dims).filter(({ entry }) => entry.startsWith("attentionMany")));
  expect(first!.map(({ entry }) => entry)).toEqual(["attentionMany_f16"]);
  for (const other of others) expect(other.map(({ ptx }) => ptx)).toEqual(first!.map(({ ptx }) => ptx));
});

test("a persistent whose rows are written has no launch where there are no rows", () => {
  const program = createProgram();
  const rows = program.input("rows", "f32", [program.dim("n", 4), 8]);
  const table = program.persistent("table", { dtype: "f32", shape: [16, 8] }, { init: "zeros" });
  program.assign(table, rows, { indices: program.input("to", "i32", [rows.spec.shape[0]!]) });
  const source = sourceOf(program);
  expect(launchesAt(source, { n: 0 })).toEqual([]);
  expect(launchesAt(source, { n: 1 })).toHaveLength(1);
});

test("calls that differ in a parameter, a spec or an op of a group have launches of their own", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  const calls = [
    ...[0, -0, 2].map((by) => program.scale(x, { by })),
    ...[Number.NEGATIVE_INFINITY, -0, 0, 1].map((min) => program.clip(x, { min, max: Number.POSITIVE_INFINITY })),
    program.scale(program.input("y", "f32", [5]), { by: 0 }),
    program.scale(program.neg(x), { by: 0 }),
    program.scale(program.abs(x), { by: 0 }),
  ];
  for (const [i, value] of calls.entries()) program.output(`${i}`, value);
  const launches = launchesAt(sourceOf(program), {});
  expect(launches.length).toBe(calls.length);
  expect(new Set(launches).size).toBe(calls.length);
});

test("products that write to a cache store nothing where their blocks still read", () => {
  const program = createProgram();
  const T = program.dim("T", 4);
  const [positions, slots] = ["positions", "slots"].map((name) => program.input(name, "i32", [T]));
  // Ends with the products, and has the size of the rotated queries.
  const x = program.softmax(program.input("x", "f32", [T, 256]));
  const [q, k, v] = ["q", "k", "v"].map((name) => {
    const w = program.persistent(name, { dtype: "f16", shape: [256, 256] });
    return program.reshape(program.matmul(x, w, { transposeB: true, activations: "half" }), { shape: [T, 4, 64] });
  });
  const cache = program.persistent("cache", { dtype: "f16", shape: [8, 4, 128] });
  const turned = program.rope(q!, positions!, { ropeType: "norm" });
  const written = program.kvWrite(cache, program.rope(k!, positions!, { ropeType: "norm" }), v!, slots!);
  program.output("y", program.sum(program.scale(turned, { by: 2 }), { axis: 1 }));
  program.output("cache", written);
  const lowered: Lowered = lower(program, "cuda", kernelTable.unsupported, { fusion });
  const source = variantSource(lowered, { gpu: hopper, unitsOf: (name) => (name === "cache" ? undefined : unitMatrix("f16", [256, 256])) });
  const { launches } = planVariant(source, { T: 1 }, new Set());
  const joint = launches.find(({ launch: { entry } }) => entry.startsWith("matmulFew"))!;
  const placesOf = (written: boolean): readonly number[] =>
    joint.args.filter(({ region: { kind }, isWritten }) => kind === "arena" && isWritten === written).map(({ offset }) => offset);
  expect([placesOf(true).length, placesOf(false).length]).toEqual([1, 1]);
  expect(placesOf(true)).not.toEqual(placesOf(false));
});
