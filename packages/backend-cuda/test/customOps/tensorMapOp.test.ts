import { contentsOf, sourceOf } from "@centella/conformance";
import { ArgumentError, type CustomOp, createProgram, createRuntime } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { floatToHalf, halfToFloat } from "@centella/quant";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import type { PtxMap } from "../../src/customKernel.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const [boxRows, boxColumns] = [16, 64];
const rowBytes = 2 * boxColumns;

/** Sums of the columns of `[rows, n]`. A block has 64 columns, which it copies in boxes of 16 rows. `map`: what the op says about the map. */
const columnSums: CustomOp<{ readonly map: Partial<PtxMap> }> = {
  name: "columnSums",
  inputs: ["x"],
  defaults: { map: {} },
  infer: ([x]) => ({ dtype: "f32", shape: x!.shape.slice(1) }),
  reference: () => {
    throw new Error("not called");
  },
  ptx: {
    launch({ inputs: [x], params: { map } }) {
      const [rows, columns] = x!.shape as readonly [number, number];
      const k = new PtxBuilder("columnSums", ["x", "y", "dims"], boxColumns, "sm_90", ["boxes"]);
      const box = k.sharedMemory("b16", boxRows * boxColumns, 1024);
      const barrier = k.sharedMemory("u64", 1);
      const thread = k.thread();
      const isFirst = k.compare("eq", thread, 0);
      k.if(isFirst, () => {
        k.initBarrier(barrier, 1);
        k.fenceBarriers();
      });
      k.sync();
      const firstColumn = k.mul(k.block(), boxColumns);
      const sum = k.variable("f32", 0);
      for (let first = 0; first < rows; first += boxRows) {
        k.if(isFirst, () => {
          k.expectBytes(barrier, boxRows * rowBytes);
          k.copyBox(box, k.tensorMap("boxes"), firstColumn, k.constant("u32", first), barrier);
        });
        k.waitBarrier(barrier, k.constant("u32", (first / boxRows) % 2));
        // Rows beyond the matrix are zeros.
        for (let row = 0; row < boxRows; row++) {
          const at = k.add(k.swizzledByte(k.constant("u32", row), k.mul(thread, 2)), rowBytes * row);
          sum.set(k.add(sum.get(), k.halfToFloat(k.ld("b16", k.sharedAtBytes<"b16">(box, at)))));
        }
        k.sync();
      }
      const column = k.add(firstColumn, thread);
      k.if(k.compare("lt", column, columns), () => k.st("f32", k.at("f32", k.pointer("y", "f32"), column), sum.get()));
      return {
        ptx: k.text(),
        entry: k.entry,
        grid: [Math.ceil(columns / boxColumns), 1, 1],
        block: [boxColumns, 1, 1],
        maps: [{ input: "x", columns, rows, boxRows, ...map }],
      };
    },
  },
};

function recorded(spec: { readonly dtype: "f16" | "f32"; readonly shape: readonly number[] }, map: Partial<PtxMap> = {}): ProgramGraph {
  const program = createProgram();
  program.output("y", program.custom(columnSums, [program.persistent("x", spec)], { map }));
  return program;
}

test("an op of the user's own copies boxes of its input", async () => {
  const cuda = { name: "cuda", open: async () => new CudaBackend(new InterpretedDriver()) };
  await using runtime = await createRuntime({ backends: [cuda], policy: { force: "cuda" } });
  const [rows, columns] = [37, 104];
  const spec = { dtype: "f16", shape: [rows, columns] } as const;
  const { stored, decoded } = contentsOf(spec, 3);
  const plan = await runtime.compile(recorded(spec));
  await plan.load("x", sourceOf(stored));
  const sums = await plan.run({}).y!.data();
  const want = Array.from({ length: columns }, (_, column) =>
    Array.from({ length: rows }, (_, row) => Number(decoded[row * columns + column])).reduce((a, b) => a + b),
  );
  expect(sums.length).toBe(columns);
  sums.forEach((sum, i) => void expect(sum).toBeCloseTo(want[i]!, 3));
});

/** Adds 1 to elements of `[rows, n]` of f16. A block has 16 rows and 64 columns, which it copies from the input and to the output as boxes. */
const plusOne: CustomOp = {
  name: "plusOne",
  inputs: ["x"],
  infer: ([x]) => x!,
  reference: () => {
    throw new Error("not called");
  },
  ptx: {
    launch({ inputs: [x] }) {
      const [rows, columns] = x!.shape as readonly [number, number];
      const k = new PtxBuilder("plusOne", ["x", "y", "dims"], 32, "sm_90", ["from", "to"]);
      const box = k.sharedMemory("u32", (boxRows * rowBytes) / 4, 1024);
      const barrier = k.sharedMemory("u64", 1);
      const isFirst = k.compare("eq", k.thread(), 0);
      const [column, row] = [k.mul(k.block(), boxColumns), k.mul(k.block("y"), boxRows)];
      k.if(isFirst, () => {
        k.initBarrier(barrier, 1);
        k.fenceBarriers();
        k.expectBytes(barrier, boxRows * rowBytes);
        k.copyBox(box, k.tensorMap("from"), column, row, barrier);
      });
      k.syncWarp();
      k.waitBarrier(barrier, k.constant("u32", 0));
      // Each pair of halves goes back to where it was: the box in shared memory keeps its order.
      k.for(k.thread(), (boxRows * rowBytes) / 4, 32, (i) => {
        const at = k.sharedAt("u32", box, i);
        k.st("u32", at, k.addPairs(k.ld("u32", at), k.constantPair(1)));
      });
      k.fenceAsyncProxy();
      k.syncWarp();
      k.if(isFirst, () => {
        k.storeBox(k.tensorMap("to"), column, row, box);
        k.commitBulk();
        k.waitBulkReads(0);
      });
      const grid = [Math.ceil(columns / boxColumns), Math.ceil(rows / boxRows), 1] as const;
      const maps = [{ input: "x" }, {}].map((of) => ({ ...of, columns, rows, boxRows }));
      return { ptx: k.text(), entry: k.entry, grid, block: [32, 1, 1], maps };
    },
  },
};

test("an op of the user's own copies boxes to its output", async () => {
  const backend = new CudaBackend(new InterpretedDriver());
  const spec = { dtype: "f16", shape: [37, 104] } as const;
  const program = createProgram();
  program.output("y", program.cast(program.custom(plusOne, [program.persistent("x", spec)]), { dtype: "f32" }));
  const { stored, decoded } = contentsOf(spec, 3);
  const plan = await backend.compile(program);
  await plan.load("x", sourceOf(stored));
  const y = await plan.run({}).y!.data();
  expect([...y]).toEqual(Array.from(decoded, (value) => halfToFloat(floatToHalf(Number(value) + 1))));
  await backend.dispose();
});

test.each<readonly [string, "f16" | "f32", Partial<PtxMap>, string]>([
  ["another input", "f16", { input: "w" }, "columnSums: expected a tensor map of an input or output of f16 or bf16, got w"],
  [
    "an output of f32",
    "f16",
    { input: undefined as never },
    "columnSums: expected a tensor map of an input or output of f16 or bf16, got the output of f32",
  ],
  ["an input of f32", "f32", {}, "columnSums: expected a tensor map of an input or output of f16 or bf16, got x of f32"],
  ["more rows than there are", "f16", { rows: 9 }, "at most 512 elements"],
  ["rows of no multiple of 8 elements", "f16", { columns: 63 }, "a multiple of 8"],
  ["a box of 257 rows", "f16", { boxRows: 257 }, "boxes of 1 to 256 rows, got 8 x 64 elements with boxes of 257 rows"],
])("a tensor map of %s is a typed error", async (_name, dtype, map, message) => {
  const backend = new CudaBackend(new InterpretedDriver());
  const failing = backend.compile(recorded({ dtype, shape: [8, 64] }, map));
  await expect(failing).rejects.toThrow(ArgumentError);
  await expect(failing).rejects.toThrow(message);
  await backend.dispose();
});
