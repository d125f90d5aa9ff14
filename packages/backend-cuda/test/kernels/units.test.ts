import { contentsOf, sourceOf } from "@centella/conformance";
import { createProgram, type DType } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import { type BlockType, ggmlTypes, isGgmlType } from "@centella/quant";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { bytesOf } from "../../src/device/hostArrays.ts";
import { placeOf, unitFormat, unitMatrix, unitRows } from "../../src/weights/unitFormat.ts";
import { IdleDriver } from "../device/idleDriver.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const types = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type): type is BlockType | "f16" | "bf16" => unitFormat(type as DType) !== undefined);

test.each([{ bits: 1 }, { bits: 2 }, { bits: 4 }, { bits: 4, isInOrder: true }, { bits: 8 }, { bits: 16 }] as const)(
  "codes of %o have places of their own",
  (plane) => {
    const { bits } = plane;
    const width = bits === 16 ? 64 : 256;
    const taken = new Set<number>();
    for (let row = 0; row < unitRows; row++) {
      for (let k = 0; k < width; k++) {
        const { word, bit } = placeOf(plane, row, k);
        for (let i = 0; i < bits; i++) taken.add(32 * word + bit + i);
      }
    }
    expect(taken.size).toBe(unitRows * width * bits);
    expect(Math.max(...taken)).toBe(unitRows * width * bits - 1);
  },
);

test("units are whole multiples of 128 bytes, with no more padding than that takes", () => {
  const sizes = types.map((dtype) => [dtype, unitFormat(dtype)?.bytes]);
  expect(Object.fromEntries(sizes)).toEqual({
    f16: 2048,
    bf16: 2048,
    q4_0: 2304,
    q4_1: 2560,
    q5_0: 2816,
    q5_1: 3072,
    q8_0: 4352,
    q2_K: 1408,
    q3_K: 1920,
    q4_K: 2304,
    q5_K: 2816,
    q6_K: 3456,
    iq1_s: 2304,
    iq1_m: 2432,
    iq2_xxs: 2304,
    iq2_xs: 2432,
    iq2_s: 2432,
    iq3_xxs: 2304,
    iq3_s: 2304,
    iq4_nl: 2304,
    iq4_xs: 2304,
    tq1_0: 1280,
    tq2_0: 1280,
    mxfp4: 2176,
    nvfp4: 2304,
    q1_0: 768,
    q2_0: 1280,
  });
  // Row tiles of types with scales have a power of two and its inverse.
  expect(unitMatrix("q4_K", [28672, 4096])?.bytes).toBe((28672 / 16) * (16 * 2304 + 8));
  expect(unitMatrix("f16", [28672, 4096])?.bytes).toBe(2 * 28672 * 4096);
  expect(unitFormat("f32")).toBeUndefined();
  expect(unitFormat("q8_K")).toBeUndefined();
});

describe.each(types)("a %s matrix in units", (dtype: DType) => {
  const isSuper = layoutOf(dtype).elements > 32;
  // Whole tiles and units, and parts of both.
  test.each([
    [32, 512],
    [19, isSuper ? 256 : 288],
  ])("%i x %i", async (rows, columns) => {
    const spec = { dtype, shape: [rows, columns] };
    const { stored, decoded } = contentsOf(spec, 7);
    const backend = new CudaBackend(new InterpretedDriver());
    const program = createProgram();
    const table = program.persistent("table", spec);
    program.output("y", program.embedding(table, program.input("ids", "i32", [rows])));
    const plan = await backend.compile(program);
    await plan.load("table", sourceOf(stored));
    expect(backend.memory().persistents).toBe(unitMatrix(dtype, spec.shape)?.bytes);
    const y = await plan.run({ ids: Int32Array.from({ length: rows }, (_, i) => i) }).y!.data();
    expect(y).toEqual(decoded);
    expect(bytesOf(await plan.save("table"))).toEqual(bytesOf(stored));
    await backend.dispose();
  });
});

/** Types by how their scales are stored in units; weights of the last one are recoded. */
const kinds = {
  "no scales": "bf16",
  halves: "q4_0",
  "halves with minima": "q5_1",
  bytes: "q6_K",
  "bytes that are floats": "mxfp4",
  nibbles: "q2_K",
  "six bits": "q4_K",
  "codes of points": "iq2_xs",
} as const;

// Row tiles have rows of two experts, and the last one has rows of none.
test.each(Object.entries(kinds))("a stack of experts in units with %s (%s) is saved bit for bit", async (_kind, dtype) => {
  const spec = { dtype, shape: [3, 19, 512] };
  const { stored } = contentsOf(spec, 7);
  const backend = new CudaBackend(new InterpretedDriver());
  const program = createProgram();
  const ids = program.input("ids", "i32", [1, 1]);
  program.output("y", program.moeMatmul(program.input("x", "f32", [1, 512]), program.persistent("experts", spec), ids));
  const plan = await backend.compile(program);
  await plan.load("experts", sourceOf(stored));
  expect(backend.memory().persistents).toBe(unitMatrix(dtype, spec.shape)?.bytes);
  expect(bytesOf(await plan.save("experts"))).toEqual(bytesOf(stored));
  await backend.dispose();
});

test("the stacks of experts that are saved have units of every kind", () => {
  const kindOf = (dtype: DType): string | undefined => unitFormat(dtype)?.scales.kind;
  expect(new Set(Object.values(kinds).map(kindOf))).toEqual(new Set(types.map(kindOf)));
});

test("a large matrix is saved in chunks, and the event loop runs between them", async () => {
  const copies: number[] = [];
  const driver = Object.assign(new IdleDriver(), {
    copyFromDevice: (_to: bigint, _from: bigint, bytes: number) => void copies.push(bytes),
  });
  const backend = new CudaBackend(driver);
  const program = createProgram();
  const spec = { dtype: "q6_K", shape: [5000, 4096] } as const;
  program.output("y", program.embedding(program.persistent("table", spec), program.input("ids", "i32", [1])));
  const plan = await backend.compile(program);
  const size = (5000 * 4096 * 210) / 256;
  await plan.load("table", { size, read: async (_offset, length) => new Uint8Array(length) });
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  count();
  expect((await plan.save("table")).byteLength).toBe(size);
  isOver = true;
  expect(copies.reduce((sum, bytes) => sum + bytes, 0)).toBe(size);
  expect(Math.max(...copies)).toBeLessThanOrEqual(2 ** 22);
  expect(turns).toBeGreaterThanOrEqual(copies.length);
  await backend.dispose();
});
