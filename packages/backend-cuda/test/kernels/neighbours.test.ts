import { uniform } from "@centella/conformance";
import { createProgram, type Program, reference, type ScalarType, type TypedArray, type Value } from "@centella/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

// The interpreter's three multiprocessors hold 6144 threads: from as many elements on, a thread computes several.
let driver: InterpretedDriver;
let backend: CudaBackend;
const texts: string[] = [];
beforeEach(() => {
  driver = new InterpretedDriver();
  texts.length = 0;
  const { loadModuleSync } = driver;
  driver.loadModuleSync = (image) => {
    texts.push(String(image));
    return loadModuleSync.call(driver, image);
  };
  backend = new CudaBackend(driver);
});
afterEach(() => backend.dispose());

async function expectSame(record: () => Program, inputs: Readonly<Record<string, TypedArray>>): Promise<void> {
  const [ours, scalar] = await Promise.all([backend, await reference().open()].map((each) => each.compile(record())));
  const [got, want] = await Promise.all([ours!, scalar!].map((plan) => plan.run(inputs).y!.data()));
  expect(got).toEqual(want);
}

describe("several elements per thread", () => {
  for (const count of [6144, 6145, 6147]) {
    test(`${count} f32, with a tensor that broadcasts`, async () => {
      const record = (): Program => {
        const program = createProgram();
        const x = program.input("x", "f32", [3, count]);
        program.output("y", program.add(x, program.input("row", "f32", [count])));
        return program;
      };
      await expectSame(record, { x: uniform(1, 3 * count), row: uniform(2, count) });
      expect(texts[0]).toMatch(/ld.global.v4.(f32|u32)[\s\S]*st.global.v4.u32/);
    });
  }

  const casts: readonly (readonly [from: ScalarType, to: ScalarType])[] = [
    ["f32", "f16"],
    ["f16", "f32"],
    ["f16", "f16"],
    ["bf16", "f32"],
    ["f32", "bf16"],
    ["i32", "f32"],
    ["f32", "u8"],
    ["u8", "f32"],
  ];
  test.each(casts)("cast of %s to %s", async (from, to) => {
    const record = (): Program => {
      const program = createProgram();
      const x = program.input("x", "f32", [6151]);
      program.output("y", program.cast(program.cast(x, { dtype: from }), { dtype: to }));
      return program;
    };
    await expectSame(record, { x: Float32Array.from({ length: 6151 }, (_, i) => i % 100) });
  });

  test("integers, in a fused group of a symbolic length", async () => {
    const record = (): Program => {
      const program = createProgram();
      const x = program.input("x", "i32", [program.dim("T", 8), 1001]);
      program.output("y", program.mul(program.add(x, x), x));
      return program;
    };
    for (const rows of [7, 1, 0]) await expectSame(record, { x: Int32Array.from({ length: rows * 1001 }, (_, i) => i - 500) });
    expect(texts[0]).toMatch(/ld.global.v4.u32/);
  });
});

describe("16 bytes per thread", () => {
  type Move = (program: Program, x: Value) => Value;
  const moves: readonly (readonly [name: string, shape: readonly number[], move: Move, areAligned: boolean])[] = [
    ["concat of aligned rows", [3, 8], (p, x) => p.concat([x, x], { axis: 0 }), true],
    ["concat of odd columns", [3, 7], (p, x) => p.concat([x, x], { axis: 1 }), false],
    ["slice from an aligned start", [3, 24], (p, x) => p.slice(x, { axis: 1, start: 8, end: 20 }), true],
    ["slice from an odd start", [3, 24], (p, x) => p.slice(x, { axis: 1, start: 6, end: 18 }), false],
    ["rows in steps", [7, 8], (p, x) => p.slice(x, { axis: 0, step: 2 }), true],
    ["columns in steps", [3, 16], (p, x) => p.slice(x, { axis: 1, step: 2 }), false],
    ["transpose that keeps rows", [3, 5, 4], (p, x) => p.transpose(x, { axes: [1, 0, 2] }), true],
    [
      "padded rows",
      [3, 8],
      (p, x) =>
        p.pad(x, {
          pads: [
            [1, 1],
            [0, 0],
          ],
        }),
      true,
    ],
    [
      "padded columns",
      [3, 8],
      (p, x) =>
        p.pad(x, {
          pads: [
            [0, 0],
            [1, 3],
          ],
        }),
      false,
    ],
  ];
  test.each(moves)("%s", async (_name, shape, move, areAligned) => {
    const record = (): Program => {
      const program = createProgram();
      program.output("y", move(program, program.input("x", "f32", shape)));
      return program;
    };
    await expectSame(record, {
      x: uniform(
        7,
        shape.reduce((a, b) => a * b),
      ),
    });
    for (const text of texts) expect(/ld.global.v4.u32[\s\S]*st.global.v4.u32/.test(text)).toBe(areAligned);
  });
});

describe("several elements of a row per thread", () => {
  const rowOps: Readonly<Record<string, (program: Program, columns: number) => Value>> = {
    softmax: (program, columns) => program.softmax(program.input("x", "f32", [3, columns])),
    sum: (program, columns) => program.sum(program.input("x", "f32", [3, columns]), { axis: 1 }),
    layerNorm: (program, columns) =>
      program.layerNorm(program.input("x", "f32", [3, columns]), program.input("w", "f32", [columns]), { eps: 1e-5 }),
    rmsNorm: (program, columns) =>
      program.rmsNorm(program.input("x", "f32", [3, columns]), program.input("w", "f32", [columns]), { eps: 1e-5 }),
    "sum of all": (program, columns) => program.sum(program.input("x", "f32", [3, columns])),
    "sum of a product": (program, columns) => {
      const x = program.input("x", "f32", [3, columns]);
      return program.sum(program.mul(x, x), { axis: -1 });
    },
  };
  const cases = Object.keys(rowOps).flatMap((op) => [1024, 1025, 1028, 8192].map((columns) => [op, columns] as const));
  test.each(cases)("%s of %i columns", async (op, columns) => {
    const record = (): Program => {
      const program = createProgram();
      program.output("y", rowOps[op]!(program, columns));
      return program;
    };
    const inputs: Record<string, TypedArray> = { x: uniform(3, 3 * columns) };
    if (op.endsWith("Norm")) inputs.w = uniform(4, columns);
    const [ours, scalar] = await Promise.all([backend, await reference().open()].map((each) => each.compile(record())));
    const [got, want] = await Promise.all([ours!, scalar!].map((plan) => plan.run(inputs).y!.data()));
    for (const [i, value] of (want as Float32Array).entries())
      expect(Math.abs((got as Float32Array)[i]! - value)).toBeLessThan(1e-6 * columns);
    expect(texts[0]!.includes("ld.global.v4")).toBe(columns % 4 === 0);
  });

  test("a long row that several groups share", async () => {
    const record = (): Program => {
      const program = createProgram();
      program.output("y", program.sum(program.input("x", "f32", [2, 20_004]), { axis: 1 }));
      return program;
    };
    await expectSame(record, { x: new Float32Array(40_008).map((_, i) => i % 7) });
    expect(texts.some((text) => text.includes("ld.global.v4"))).toBe(true);
  });
});
