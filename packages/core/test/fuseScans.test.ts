import { expect, test } from "vitest";
import { explain } from "../src/compiler/explain.ts";
import { lower } from "../src/compiler/lower.ts";
import { fuseScans } from "../src/compiler/passes/fuseScans.ts";
import { createProgram, createRuntime, type Program, reference, type Value } from "../src/index.ts";
import type { ProgramGraph } from "../src/program/programGraph.ts";
import { accept, beforeAndAfter, bodies } from "./support/passes.ts";

const scans = (program: ProgramGraph): ProgramGraph => fuseScans(program, accept).program;

/** A state of one head with two channels of four elements, and the inputs of its scan. */
function inputs(program: Program) {
  const T = program.dim("T", 8);
  return {
    state: program.persistent("state", { dtype: "f32", shape: [2, 1, 2, 4] }, { init: "zeros" }),
    x: program.input("x", "f32", [T, 1, 2]),
    dt: program.input("dt", "f32", [T, 1]),
    a: program.constant(Float32Array.of(-1), "f32", [1, 1]),
    b: program.input("b", "f32", [T, 1, 4]),
    c: program.input("c", "f32", [T, 1, 4]),
    positions: program.input("positions", "i32", [T]),
    rows: program.input("rows", "i32", [T]),
  };
}

type Inputs = ReturnType<typeof inputs>;
const scan = (program: Program, { x, dt, a, b, c, state, positions, rows }: Inputs): Value =>
  program.ssmScan(x, dt, a, b, c, state, positions, rows);
const write = (program: Program, { x, dt, a, b, state, positions, rows }: Inputs): Value =>
  program.ssmScanWrite(state, x, dt, a, b, positions, rows);

test("a scan and the write of its state become one node, which writes in place", () => {
  const program = createProgram();
  const all = inputs(program);
  const y = scan(program, all);
  write(program, all);
  program.output("y", program.relu(y));
  expect(beforeAndAfter(program, scans)).toMatchInlineSnapshot(`
    "before
    input x: f32 [T≤8, 1, 2]
    input dt: f32 [T≤8, 1]
    input b: f32 [T≤8, 1, 4]
    input c: f32 [T≤8, 1, 4]
    input positions: i32 [T≤8]
    input rows: i32 [T≤8]
    persistent state: f32 [2, 1, 2, 4], zeros
    %8: f32 [T≤8, 1, 2] = ssmScan(x, dt, -1, b, c, state, positions, rows)
    state'1: f32 [2, 1, 2, 4] = ssmScanWrite(state, x, dt, -1, b, positions, rows)
    %10: f32 [T≤8, 1, 2] = relu(%8)
    output y: %10 to the host

    after
    input x: f32 [T≤8, 1, 2]
    input dt: f32 [T≤8, 1]
    input b: f32 [T≤8, 1, 4]
    input c: f32 [T≤8, 1, 4]
    input positions: i32 [T≤8]
    input rows: i32 [T≤8]
    persistent state: f32 [2, 1, 2, 4], zeros
    %8: f32 [T≤8, 1, 2], state'1: f32 [2, 1, 2, 4] = fused(x, dt, -1, b, c, state, positions, rows)
      .0 = ssmScan(x, dt, -1, b, c, state, positions, rows)
      .1 = ssmScanWrite(state, x, dt, -1, b, positions, rows)
    %10: f32 [T≤8, 1, 2] = relu(%8)
    output y: %10 to the host
    "
  `);
  const { steps, storages } = lower(program, "any", () => undefined);
  expect(steps[0]!.output.storage).toBe(steps[0]!.inputs.find((operand) => operand?.storage.definition.kind === "persistent")!.storage);
  expect(storages.filter(({ definition }) => definition.kind === "persistent").length).toBe(1);
  expect(explain(program)).toMatch(/= fused\(.*, at 0, in state\)/);
});

test("a delta rule and the write of its state become one node", () => {
  const program = createProgram();
  const T = program.dim("T", 8);
  const state = program.persistent("state", { dtype: "f32", shape: [2, 1, 3, 4] }, { init: "zeros" });
  const keys = (name: string): Value => program.input(name, "f32", [T, 1, 4]);
  const [q, k, v, a, b] = [keys("q"), keys("k"), program.input("v", "f32", [T, 1, 3]), keys("a"), keys("b")];
  const [decay, positions, rows] = [keys("decay"), program.input("positions", "i32", [T]), program.input("rows", "i32", [T])];
  program.output("y", program.deltaScan(q, k, v, decay, a, b, state, positions, rows));
  program.deltaScanWrite(state, k, v, decay, a, b, positions, rows);
  expect(bodies(scans(program))).toEqual(["deltaScan+deltaScanWrite"]);
});

test("scans are not fused if another op uses the state between them, or if their inputs differ", () => {
  const apart = (record: (program: Program, all: Inputs) => void): readonly string[] => {
    const program = createProgram();
    record(program, inputs(program));
    return bodies(scans(program)).filter((name) => name.startsWith("ssm"));
  };
  const both = ["ssmScan", "ssmScanWrite"];
  // The results are read before the write.
  expect(
    apart((program, all) => {
      const y = scan(program, all);
      program.output("y", scan(program, { ...all, x: program.relu(y) }));
      write(program, all);
    }),
  ).toEqual(["ssmScan", ...both]);
  // The write takes other tokens than the scan.
  expect(
    apart((program, all) => {
      program.output("y", scan(program, all));
      write(program, { ...all, x: program.relu(all.x) });
    }),
  ).toEqual(both);
  // The scan reads the version after the write.
  expect(
    apart((program, all) => {
      const next = write(program, all);
      program.output("y", scan(program, { ...all, state: next }));
    }),
  ).toEqual(both.toReversed());
  // The factor of the results is overwritten in between.
  expect(
    apart((program, all) => {
      const c = program.persistent("c", { dtype: "f32", shape: [1, 1, 4] });
      const one = { ...all, ...oneToken(program), c };
      program.output("y", scan(program, one));
      program.assign(c, program.relu(c));
      write(program, one);
    }),
  ).toEqual(both);
});

test("a refused group stays unchanged, with the reason", () => {
  const program = createProgram();
  const all = inputs(program);
  program.output("y", scan(program, all));
  write(program, all);
  const { program: after, refused } = fuseScans(program, () => "no such kernel");
  expect(bodies(after)).toEqual(["ssmScan", "ssmScanWrite"]);
  expect(refused).toEqual([{ ops: ["ssmScan", "ssmScanWrite"], reason: "no such kernel" }]);
  expect(bodies(fuseScans(program, accept, { maxInputs: 7 }).program)).toEqual(["ssmScan", "ssmScanWrite"]);
  expect(bodies(fuseScans(program, accept, { maxInputs: 8 }).program)).toEqual(["ssmScan+ssmScanWrite"]);
});

test("the reference computes a group like its two calls, over several runs", async () => {
  const program = createProgram();
  const all = inputs(program);
  program.output("y", scan(program, all));
  program.output("state", write(program, all));
  const alone = createProgram();
  const others = inputs(alone);
  const y = scan(alone, others);
  alone.output("early", alone.relu(y));
  alone.output("y", y);
  alone.output("state", write(alone, others));
  // A reader before the write keeps these apart.
  expect(bodies(scans(alone))).toContain("ssmScan");
  await using runtime = await createRuntime({ backends: [reference()] });
  const [together, apart] = [await runtime.compile(program), await runtime.compile(alone)];
  for (const from of [0, 3]) {
    const data = (count: number, by: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(by * (i + 1 + from)));
    const given = {
      ...{ x: data(6, 1), dt: data(3, 2).map(Math.abs), b: data(12, 3), c: data(12, 4) },
      ...{ positions: Int32Array.of(from, from + 1, from + 2), rows: Int32Array.of(1, 1, 1) },
    };
    const [one, two] = [together.run(given), apart.run(given)];
    for (const name of ["y", "state"]) expect(await one[name]!.data(), name).toEqual(await two[name]!.data());
  }
  expect(await together.save("state")).toEqual(await apart.save("state"));
});

/** Inputs of the scan of a single token. */
function oneToken(program: Program): Omit<Inputs, "state" | "a" | "c"> {
  return {
    x: program.input("x1", "f32", [1, 1, 2]),
    dt: program.input("dt1", "f32", [1, 1]),
    b: program.input("b1", "f32", [1, 1, 4]),
    positions: program.input("positions1", "i32", [1]),
    rows: program.input("rows1", "i32", [1]),
  };
}
