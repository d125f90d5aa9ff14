import { uniform } from "@centella/conformance";
import { type CustomOp, createProgram, reference } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

/** `x * x + b`, a thread an element of `[T, 40]`. */
const squarePlus: CustomOp = {
  name: "squarePlus",
  inputs: ["x", "b"],
  infer: ([x]) => x!,
  reference([x, b], _params, y) {
    x!.data.forEach((value, i) => {
      y.data[i] = value * value + b!.data[i]!;
    });
  },
  ptx: {
    // Rows are blocks of the grid's second axis.
    launch({ output, dimOffset }) {
      const [rows, columns] = output.shape as readonly [number, number];
      const k = new PtxBuilder("squarePlus", ["x", "b", "y", "dims"], 32);
      const row = k.block("y");
      const column = k.mad(k.block(), 32, k.thread());
      const isBelow = k.compare("lt", row, k.ld("u32", k.pointer("dims", "u32"), dimOffset("T") / 4));
      k.if(k.and(isBelow, k.compare("lt", column, columns)), () => {
        const i = k.mad(row, columns, column);
        const [x, b] = (["x", "b"] as const).map((name) => k.ld("f32", k.at("f32", k.pointer(name, "f32"), i)));
        k.st("f32", k.at("f32", k.pointer("y", "f32"), i), k.fma(x!, x!, b!));
      });
      return { ptx: k.text(), entry: k.entry, grid: [Math.ceil(columns / 32), rows, 1], block: [32, 1, 1] };
    },
  },
};

function recorded(op: CustomOp) {
  const program = createProgram();
  program.dim("unused", 3);
  const x = program.input("x", "f32", [program.dim("T", 40), 40]);
  program.output("y", program.relu(program.custom(op, [x, program.input("b", "f32", x.spec.shape)])));
  return program;
}

test("an op of the user's own runs its own PTX", async () => {
  const backend = new CudaBackend(new InterpretedDriver());
  const plan = await backend.compile(recorded(squarePlus));
  const scalar = await (await reference().open()).compile(recorded(squarePlus));
  for (const rows of [40, 1, 2, 17]) {
    const inputs = { x: uniform(rows, 40 * rows), b: uniform(rows + 1, 40 * rows) };
    const want = scalar.runSync!(inputs).y!;
    const got = await plan.run(inputs).y!.data();
    expect(got.length).toBe(40 * rows);
    got.forEach((value, i) => {
      expect(value).toBeCloseTo(want[i]!, 6);
    });
  }
  const { ptx: _, ...without } = squarePlus;
  await expect(backend.compile(recorded(without))).rejects.toThrow(/squarePlus came without a kernel for cuda/);
  await backend.dispose();
});
