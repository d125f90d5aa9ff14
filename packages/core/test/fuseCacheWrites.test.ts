import { expect, test } from "vitest";
import { explain } from "../src/compiler/explain.ts";
import { lower } from "../src/compiler/lower.ts";
import { fuseCacheWrites } from "../src/compiler/passes/fuseCacheWrites.ts";
import { createProgram, createRuntime, type Program, reference, type Value } from "../src/index.ts";
import type { ProgramGraph } from "../src/program/programGraph.ts";
import { accept, beforeAndAfter, bodies } from "./support/passes.ts";

const writes = (program: ProgramGraph): ProgramGraph => fuseCacheWrites(program, accept).program;

/** A cache of one head of four elements, and what a layer writes to it. */
function inputs(program: Program) {
  const T = program.dim("T", 8);
  return {
    cache: program.persistent("cache", { dtype: "f16", shape: [9, 1, 8] }, { init: "zeros" }),
    q: program.input("q", "f32", [T, 2, 4]),
    k: program.input("k", "f32", [T, 1, 4]),
    v: program.input("v", "f32", [T, 1, 4]),
    positions: program.input("positions", "i32", [T]),
    slots: program.input("slots", "i32", [T]),
  };
}

type Inputs = ReturnType<typeof inputs>;
const rotated = (program: Program, x: Value, { positions }: Inputs, base = 10_000): Value =>
  program.rope(x, positions, { ropeType: "norm", base });

/** The bodies of the nodes after the pass. */
function fusedBodies(record: (program: Program, all: Inputs) => void): readonly string[] {
  const program = createProgram();
  record(program, inputs(program));
  return bodies(writes(program));
}

test("ropes of queries and keys and the write to the cache are one node, which writes in place", () => {
  const program = createProgram();
  const all = inputs(program);
  const q = rotated(program, all.q, all);
  program.kvWrite(all.cache, rotated(program, all.k, all), all.v, all.slots);
  program.output("y", program.softmax(q));
  expect(beforeAndAfter(program, writes)).toMatchInlineSnapshot(`
    "before
    input q: f32 [T≤8, 2, 4]
    input k: f32 [T≤8, 1, 4]
    input v: f32 [T≤8, 1, 4]
    input positions: i32 [T≤8]
    input slots: i32 [T≤8]
    persistent cache: f16 [9, 1, 8], zeros
    %6: f32 [T≤8, 2, 4] = rope(q, positions, dims: 0, base: 10000, scale: 1, ropeType: "norm")
    %7: f32 [T≤8, 1, 4] = rope(k, positions, dims: 0, base: 10000, scale: 1, ropeType: "norm")
    cache'1: f16 [9, 1, 8] = kvWrite(cache, %7, v, slots)
    %9: f32 [T≤8, 2, 4] = softmax(%6, axis: -1)
    output y: %9 to the host

    after
    input q: f32 [T≤8, 2, 4]
    input k: f32 [T≤8, 1, 4]
    input v: f32 [T≤8, 1, 4]
    input positions: i32 [T≤8]
    input slots: i32 [T≤8]
    persistent cache: f16 [9, 1, 8], zeros
    %6: f32 [T≤8, 2, 4], cache'1: f16 [9, 1, 8] = fused(q, positions, k, cache, v, slots)
      .0 = rope(q, positions, dims: 0, base: 10000, scale: 1, ropeType: "norm")
      .1 = rope(k, positions, dims: 0, base: 10000, scale: 1, ropeType: "norm")
      .2 = kvWrite(cache, .1, v, slots)
    %9: f32 [T≤8, 2, 4] = softmax(%6, axis: -1)
    output y: %9 to the host
    "
  `);
  const { steps } = lower(program, "any", () => undefined);
  expect(steps[0]!.output.storage).toBe(steps[0]!.inputs.find((operand) => operand?.storage.definition.kind === "persistent")!.storage);
  expect(explain(program)).toMatch(/= fused\(.*, at 0, in cache\)/);
});

test("queries stay apart where they are read before the write or turn by other angles", () => {
  const write = (program: Program, all: Inputs): Value => program.kvWrite(all.cache, rotated(program, all.k, all), all.v, all.slots);
  const read = fusedBodies((program, all) => {
    const y = program.relu(rotated(program, all.q, all));
    write(program, all);
    program.output("y", y);
  });
  expect(read).toEqual(["rope", "relu", "rope+kvWrite"]);
  const other = fusedBodies((program, all) => {
    const q = rotated(program, all.q, all, 500);
    write(program, all);
    program.output("q", q);
  });
  expect(other).toEqual(["rope", "rope+kvWrite"]);
  const overwritten = fusedBodies((program, all) => {
    const state = program.persistent("state", { dtype: "f32", shape: [1, 1, 4] });
    const one = { ...all, ...oneToken(program) };
    const q = rotated(program, state, one);
    program.assign(state, program.relu(state));
    write(program, one);
    program.output("q", q);
  });
  expect(overwritten).toEqual(["rope", "relu", "assign", "rope+kvWrite"]);
});

test("keys that other ops read, that are written twice, or that are values too are not fused", () => {
  const apart = ["rope", "kvWrite"];
  const isOutput = fusedBodies((program, all) => {
    const k = rotated(program, all.k, all);
    program.kvWrite(all.cache, k, all.v, all.slots);
    program.output("k", k);
  });
  expect(isOutput).toEqual(apart);
  expect(
    fusedBodies((program, all) => {
      const k = rotated(program, all.k, all);
      program.kvWrite(all.cache, k, k, all.slots);
    }),
  ).toEqual(apart);
  const twice = fusedBodies((program, all) => {
    const k = rotated(program, all.k, all);
    program.kvWrite(program.kvWrite(all.cache, k, all.v, all.slots), k, all.k, all.slots);
  });
  expect(twice).toEqual(["rope", "kvWrite", "kvWrite"]);
});

test("queries of one layer do not join the write of another", () => {
  const program = createProgram();
  const all = inputs(program);
  const layer = (name: string): void => {
    const q = rotated(program, program.scale(all.q, { by: name.length }), all);
    const cache = program.persistent(name, { dtype: "f16", shape: [9, 1, 8] }, { init: "zeros" });
    program.kvWrite(cache, rotated(program, program.scale(all.k, { by: name.length }), all), all.v, all.slots);
    program.output(name, q);
  };
  layer("first");
  layer("second");
  expect(bodies(writes(program))).toEqual(["scale", "scale", "rope+rope+kvWrite", "scale", "scale", "rope+rope+kvWrite"]);
});

test("a refused group is tried without queries, then left unfused, with the reasons", () => {
  const program = createProgram();
  const all = inputs(program);
  const q = rotated(program, all.q, all);
  program.kvWrite(all.cache, rotated(program, all.k, all), all.v, all.slots);
  program.output("q", q);
  const keysOnly = fuseCacheWrites(program, (_, { extraOutputs }) => (extraOutputs === undefined ? undefined : "one result only"));
  expect(bodies(keysOnly.program)).toEqual(["rope", "rope+kvWrite"]);
  expect(keysOnly.refused).toEqual([{ ops: ["rope", "rope", "kvWrite"], reason: "one result only" }]);
  const none = fuseCacheWrites(program, () => "no such kernel");
  expect(bodies(none.program)).toEqual(["rope", "rope", "kvWrite"]);
  expect(none.refused.map(({ ops }) => ops.join("+"))).toEqual(["rope+rope+kvWrite", "rope+kvWrite"]);
  expect(bodies(fuseCacheWrites(program, accept, { maxInputs: 5 }).program)).toEqual(["rope", "rope+kvWrite"]);
});

test("the reference computes a group as it computes the calls, over several runs", async () => {
  const record = (isRead: boolean): Program => {
    const program = createProgram();
    const all = inputs(program);
    const q = rotated(program, all.q, all);
    const k = rotated(program, all.k, all);
    if (isRead) program.output("early", program.relu(program.add(k, program.mean(q))));
    program.output("cache", program.kvWrite(all.cache, k, all.v, all.slots));
    program.output("q", q);
    return program;
  };
  expect(bodies(writes(record(true)))).not.toContain("rope+kvWrite");
  await using runtime = await createRuntime({ backends: [reference()] });
  const [together, apart] = [await runtime.compile(record(false)), await runtime.compile(record(true))];
  for (const from of [0, 3]) {
    const data = (count: number, by: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(by * (i + 1 + from)));
    const given = {
      ...{ q: data(24, 1), k: data(12, 2), v: data(12, 3) },
      ...{ positions: Int32Array.of(from, from + 1, from + 2), slots: Int32Array.of(from, from + 2, from + 1) },
    };
    const [one, two] = [together.run(given), apart.run(given)];
    for (const name of ["q", "cache"]) expect(await one[name]!.data(), name).toEqual(await two[name]!.data());
  }
});

/** What a single token is written with. */
function oneToken(program: Program): Omit<Inputs, "cache" | "q"> {
  return {
    k: program.input("k1", "f32", [1, 1, 4]),
    v: program.input("v1", "f32", [1, 1, 4]),
    positions: program.input("positions1", "i32", [1]),
    slots: program.input("slots1", "i32", [1]),
  };
}
