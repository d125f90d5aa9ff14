import { uniform } from "@centella/conformance";
import { ArgumentError, type CustomOp, createProgram, createRuntime, reference } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { PtxBuilder, warpSum } from "../../src/ptx/index.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const [blocks, threads] = [4, 128];
const warps = threads / 32;

/** Sums of rows `[T, n]`. The four blocks of a cluster share a row, and hand their sums to the first one through its shared memory. */
const rowSums: CustomOp<{ readonly gridWidth: number }> = {
  name: "rowSums",
  inputs: ["x"],
  defaults: { gridWidth: blocks },
  infer: ([x]) => ({ dtype: "f32", shape: x!.shape.slice(0, 1) }),
  reference([x], _params, y) {
    const columns = x!.data.length / y.data.length;
    for (let row = 0; row < y.data.length; row++)
      y.data[row] = Float64Array.from(x!.data.slice(row * columns, (row + 1) * columns)).reduce((sum, value) => sum + value, 0);
  },
  ptx: {
    launch({ inputs: [x], params: { gridWidth }, dimOffset }) {
      const [rows, columns] = x!.shape as readonly [number, number];
      const k = new PtxBuilder("rowSums", ["x", "y", "dims"], threads, "sm_90");
      k.setCluster(blocks);
      const partials = k.sharedMemory("f32", blocks * warps);
      const [row, rank, thread] = [k.block("y"), k.clusterRank(), k.thread()];
      const isBelow = k.compare("lt", row, k.ld("u32", k.pointer("dims", "u32"), dimOffset("T") / 4));
      // A row is that of a whole cluster: all of its threads come to its barriers, or none.
      k.ifUniform(isBelow, () => {
        // Starts to wait until the first block runs: only then may others write to its memory.
        k.arriveCluster("relaxed");
        const sum = k.variable("f32", 0);
        const values = k.at("f32", k.pointer("x", "f32"), k.mul(row, columns));
        k.for(k.mad(rank, threads, thread), columns, blocks * threads, (i) =>
          sum.set(k.add(sum.get(), k.ld("f32", k.at("f32", values, i)))),
        );
        const partial = warpSum(k, sum.get());
        k.waitCluster();
        const place = k.sharedAt("f32", partials, k.mad(rank, warps, k.shiftRight(thread, 5)));
        k.if(k.compare("eq", k.and(thread, 31), 0), () => k.stRemote("f32", k.remote(place, 0), partial));
        k.syncCluster();
        k.if(k.compare("eq", k.or(rank, thread), 0), () => {
          const all = Array.from({ length: blocks * warps }, (_, i) => k.ld("f32", partials, i));
          k.st(
            "f32",
            k.at("f32", k.pointer("y", "f32"), row),
            all.reduce((a, b) => k.add(a, b)),
          );
        });
      });
      return { ptx: k.text(), entry: k.entry, grid: [gridWidth, rows, 1], block: [threads, 1, 1] };
    },
  },
};

function recorded(columns: number, gridWidth = blocks): ProgramGraph {
  const program = createProgram();
  program.output("y", program.custom(rowSums, [program.input("x", "f32", [program.dim("T", 3), columns])], { gridWidth }));
  return program;
}

test("an op whose blocks share a row in clusters computes what the reference does", async () => {
  const cuda = { name: "cuda", open: async () => new CudaBackend(new InterpretedDriver()) };
  await using runtime = await createRuntime({ backends: [cuda], policy: { force: "cuda" } });
  await using exact = await createRuntime({ backends: [reference()] });
  for (const [rows, columns] of [
    [3, 1000],
    [1, 515],
    [2, 7],
  ] as const) {
    const x = uniform(rows, rows * columns);
    const [got, want] = await Promise.all(
      [runtime, exact].map(async (each) => (await each.compile(recorded(columns))).run({ x }).y!.data()),
    );
    expect(got!.length).toBe(rows);
    got!.forEach((value, i) => void expect(value).toBeCloseTo(Number(want![i]), 4));
  }
});

test("a grid of parts of clusters is a typed error", async () => {
  const backend = new CudaBackend(new InterpretedDriver());
  const failing = backend.compile(recorded(8, 6)).then((plan) => plan.run({ x: new Float32Array(8) }).y!.data());
  await expect(failing).rejects.toThrow(ArgumentError);
  await expect(failing).rejects.toThrow(
    "rowSums: expected a grid of whole clusters of 4 x 1 x 1 blocks, got 6 x 3 x 1 blocks; round the grid up",
  );
  await backend.dispose();
});
