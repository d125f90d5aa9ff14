import { contentsOf, sourceOf } from "@centella/conformance";
import { ArgumentError, type CustomOp, createProgram, createRuntime } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import type { PtxMap } from "../src/customKernel.ts";
import { PtxBuilder } from "../src/ptx/index.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";

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
        // Rows beyond the matrix are zeros. Pieces of 16 bytes are swizzled.
        for (let row = 0; row < boxRows; row++) {
          const piece = k.mul(k.xor(k.shiftRight(thread, 3), row % 8), 16);
          const at = k.mad(k.and(thread, 7), 2, k.add(piece, rowBytes * row));
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

test.each<readonly [string, "f16" | "f32", Partial<PtxMap>, string]>([
  ["another input", "f16", { input: "w" }, "columnSums: expected a tensor map of an input of f16 or bf16, got w"],
  ["an input of f32", "f32", {}, "columnSums: expected a tensor map of an input of f16 or bf16, got x of f32"],
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
