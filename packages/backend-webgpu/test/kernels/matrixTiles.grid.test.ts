import { contentsOf, uniform } from "@centella/conformance";
import { createProgram, type DType, reference } from "@centella/core";
import { activationType, type GgmlType, ggmlTypes, halfToFloat, isBlockType, isDequantizable, roundActivations } from "@centella/quant";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { guaranteed, subgroupLanes } from "../../src/device/capabilities.ts";
import type { OpenDevice } from "../../src/device/device.ts";
import { toDevice } from "../../src/device/layout.ts";
import { halfBytes, halfRowsDispatch } from "../../src/kernels/matrices/halfRows.ts";
import { matrixTile, multipliesTogether, readsHalves, smallestForm } from "../../src/kernels/matrices/matrixTiles.ts";
import type { MatrixForm, MatrixResult, MatrixWeight } from "../../src/kernels/matrices/matrixUnit.ts";
import type { Binding, Dispatch } from "../../src/kernels/shared/kernel.ts";
import { rowElement } from "../../src/kernels/shared/weights.ts";
import { type EpilogueText, storeText } from "../../src/wgsl/epilogue.ts";
import { input, output } from "../../src/wgsl/module.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openGuardedDevice } from "../support/openBackend.ts";
import { emulatedUnit } from "./emulatedMatrices.ts";
import { runDispatches } from "./runDispatches.ts";

const [m, n, depth] = [70, 45, 64];
/** A form with fewer lanes than those of devices. */
const form = { rows: 32, columns: 32, depth: 32, down: 2, across: 1 };

/** Rows of halves. */
function halvesOf(depth: number): Binding {
  const bytes = halfBytes({ dtype: "f32", shape: [m, depth] });
  return { name: "halves", resource: { kind: "scratch", bytes }, access: "read", element: "vec4u" };
}

const halves = halvesOf(depth);

function weightOf(name: string, dtype: DType): MatrixWeight {
  return { binding: input(name, 1, rowElement(dtype)), dtype };
}

function tileOf(weights: readonly MatrixWeight[], store: EpilogueText = storeText(undefined), own: MatrixForm = form): Dispatch {
  const result = { suffix: "", weights, columns: n, y: output("y"), store };
  return matrixTile({ results: [result], halves, depth, rowsIn: () => m }, own, emulatedUnit, () => true);
}

/** Rows that halves have exactly; the second one only after it is scaled. */
function rowsOf(depth: number): Float32Array {
  return uniform(7, m * depth).map((value, i) => Math.round(value * 64) * (i >= depth && i < 2 * depth ? 2 ** 20 : 2 ** -6));
}

type Stored = Parameters<typeof toDevice>[1];

/** A weight `[columns, depth]`. */
interface StoredWeight {
  readonly dtype: DType;
  readonly columns: number;
  readonly depth: number;
  readonly stored: Stored;
}

function storedWeight(dtype: DType, seed: number, shape: readonly [columns: number, depth: number] = [n, depth]): StoredWeight {
  return { dtype, columns: shape[0], depth: shape[1], stored: contentsOf({ dtype, shape }, seed).stored };
}

/** The results of a dispatch of weights of one depth, whose further bindings have `contents`. */
async function onDevice(
  { device, capabilities }: OpenDevice,
  dispatch: Dispatch,
  weights: Readonly<Record<string, StoredWeight>>,
  resultColumns: Readonly<Record<string, number>> = { y: n },
  further: Readonly<Record<string, Float32Array>> = {},
): Promise<readonly Float32Array[]> {
  const { depth } = Object.values(weights)[0]!;
  const a = { dtype: "f32", shape: [m, depth] } as const;
  const options = { least: 1, subgroup: subgroupLanes(capabilities) };
  const dispatches = [
    {
      dispatch: halfRowsDispatch(a, { binding: input("a", 0), blocks: undefined }, halvesOf(depth), options),
      buffers: { a: "a", y: "halves" },
    },
    { dispatch, buffers: Object.fromEntries(dispatch.bindings.map(({ name }) => [name, name])) },
  ];
  const contents = new Map<string, Uint8Array<ArrayBuffer> | number>([
    ["a", bytesOf(rowsOf(depth))],
    ["halves", halfBytes(a)],
    ...Object.entries(further).map(([name, values]) => [name, bytesOf(values)] as const),
    ...Object.entries(resultColumns).map(([name, columns]) => [name, 4 * m * columns] as const),
  ]);
  for (const [name, { dtype, columns, stored }] of Object.entries(weights))
    contents.set(name, Uint8Array.from(toDevice({ dtype, shape: [columns, depth] }, stored)));
  const results = await runDispatches(device, dispatches, Object.fromEntries(contents), Object.keys(resultColumns));
  return results.map((result) => new Float32Array(result));
}

function bytesOf({ buffer }: Float32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer);
}

async function onReference({ dtype, columns, depth, stored }: StoredWeight): Promise<Float32Array> {
  const program = createProgram();
  const weight = program.constant(stored, dtype, [columns, depth]);
  program.output("y", program.matmul(program.input("x", "f32", [m, depth]), weight, { transposeB: true }));
  const plan = await (await reference().open()).compile(program);
  return (await plan.run({ x: rowsOf(depth) }).y!.data()) as Float32Array;
}

/** Types whose weights are multiplied as matrices of halves. */
const types = ["f16", ...(Object.keys(ggmlTypes) as GgmlType[]).filter(isBlockType).filter(isDequantizable)] as const;

/** The largest difference, relative to the largest result of the row. */
function worstOf(got: Float32Array, want: Float32Array): number {
  const n = want.length / m;
  const largest = (row: number): number => Math.max(...want.subarray(row * n, (row + 1) * n).map(Math.abs));
  return Math.max(...want.map((value, i) => Math.abs(value - got[i]!) / largest(Math.floor(i / n))));
}

await describeOpened("tiles of matrices that subgroups multiply", openGuardedDevice(), (opened) => {
  afterAll(() => opened.device.destroy());

  test.each(["f16", "q8_0"] as const)("equal the reference with weights of %s, emulated in workgroup memory", async (dtype) => {
    const b = storedWeight(dtype, 3);
    const [got] = await onDevice(opened, tileOf([weightOf("b", dtype)]), { b });
    expect(worstOf(got!, await onReference(b))).toBeLessThan(1e-5);
  });

  // Neither the rows nor the columns fill the last tiles.
  test.each(isWholeGrid ? types : (["f16", "q4_K"] as const))(
    "equal the reference in a form of devices, with weights of %s",
    async (dtype) => {
      const [columns, depth] = [101, 256];
      const b = storedWeight(dtype, 3, [columns, depth]);
      const result = { suffix: "", weights: [weightOf("b", dtype)], columns, y: output("y"), store: storeText(undefined) };
      const parts = { results: [result], halves: halvesOf(depth), depth, rowsIn: () => m };
      const [got] = await onDevice(
        opened,
        matrixTile(parts, smallestForm, emulatedUnit, () => true),
        { b },
        { y: columns },
      );
      expect(worstOf(got!, await onReference(b))).toBeLessThan(1e-5);
    },
  );

  // Lanes have parts of one and of several blocks, and some have none.
  test.each(["q4_K", "q4_0"] as const)("round rows to halves of the blocks that weights of %s multiply", async (type) => {
    const a = { dtype: "f32", shape: [4, 2304] } as const;
    const [count, columns] = a.shape;
    // Rows of common values, of values beyond those of halves, of zeros, and of tiny values.
    const factors = [1, 2 ** 20, 0, 2 ** -10];
    const values = uniform(9, count * columns).map((value, i) => value * factors[Math.floor(i / columns)]!);
    const options = { least: 1, subgroup: subgroupLanes(opened.capabilities) };
    const dispatch = halfRowsDispatch(a, { binding: input("a", 0), blocks: activationType[type] }, halves, options);
    const contents = { a: bytesOf(values), halves: halfBytes(a) };
    const [result] = await runDispatches(opened.device, [{ dispatch, buffers: { a: "a", y: "halves" } }], contents, ["halves"]);
    const rowHalves = columns + 8;
    for (let row = 0; row < count; row++) {
      const want = new Float32Array(columns);
      roundActivations(type, values.slice(row * columns, (row + 1) * columns), want);
      const factor = new DataView(result!).getFloat32(2 * (row * rowHalves + columns), true);
      const got = Array.from(new Uint16Array(result!, 2 * row * rowHalves, columns), (bits) => halfToFloat(bits) * factor);
      // Halves have 11 bits, and steps of 2 ** -24 at least.
      got.forEach((value, i) => {
        expect(Math.abs(value - want[i]!)).toBeLessThanOrEqual(Math.abs(want[i]!) * 2 ** -11 + 2 ** -25 * factor);
      });
      expect(factor).toBe(row === 1 ? 2 ** 5 : 1);
    }
  });

  // Lanes read units of both weights, or units of one and then units of the other.
  test.each([
    ["f16", "f16", 2],
    ["q8_0", "q4_0", 2],
    ["q8_0", "q4_0", 1],
  ] as const)("multiply with weights of %s and %s together, by %d subgroups", async (first, second, down) => {
    const [b0, b1] = [storedWeight(first, 3), storedWeight(second, 4)];
    const store: EpilogueText = {
      ...storeText(undefined),
      declarations: ["fn store(i: u32, first: f32, second: f32) { y[i] = first - 2.0 * second; }"],
    };
    const tile = tileOf([weightOf("b0", first), weightOf("b1", second)], store, { ...form, down });
    const [got] = await onDevice(opened, tile, { b0, b1 });
    const [x, y] = [await onReference(b0), await onReference(b1)];
    expect(
      worstOf(
        got!,
        x.map((value, i) => value - 2 * y[i]!),
      ),
    ).toBeLessThan(1e-5);
  });

  // The tile has 32 columns: one result ends within a tile, one fills its last tile, and one has two products and less than a tile.
  test.each([
    ["f16", "f16", "f16"],
    ["q8_0", "q4_0", "f16"],
    ["f16", "q4_1", "q8_0"],
  ] as const)("compute results of several widths, with weights of %s, %s and %s", async (...types) => {
    const [b0, b1, b2] = [
      storedWeight(types[0], 3, [45, depth]),
      storedWeight(types[1], 4, [64, depth]),
      storedWeight(types[2], 5, [11, depth]),
    ];
    const gate = storedWeight(types[2], 6, [11, depth]);
    const bias = uniform(8, 64);
    const resultOf = (suffix: string, weights: readonly MatrixWeight[], columns: number, own: Partial<EpilogueText> = {}): MatrixResult => {
      return { suffix, weights, columns, y: output(`y${suffix}`), store: { ...storeText(undefined, { suffix }), ...own } };
    };
    const results = [
      resultOf("Q", [weightOf("b0", types[0])], 45),
      resultOf("K", [weightOf("b1", types[1])], 64, {
        bindings: [input("bias", 2)],
        declarations: ["fn storeK(i: u32, value: f32) { yK[i] = value + bias[i % 64u]; }"],
      }),
      resultOf("V", [weightOf("gate", types[2]), weightOf("b2", types[2])], 11, {
        declarations: ["fn storeV(i: u32, first: f32, second: f32) { yV[i] = first - 2.0 * second; }"],
      }),
    ];
    const tile = matrixTile({ results, halves, depth, rowsIn: () => m }, form, emulatedUnit, () => true);
    const [q, k, v] = await onDevice(opened, tile, { b0, b1, b2, gate }, { yQ: 45, yK: 64, yV: 11 }, { bias });
    expect(worstOf(q!, await onReference(b0))).toBeLessThan(1e-5);
    const biased = (await onReference(b1)).map((value, i) => value + bias[i % 64]!);
    expect(worstOf(k!, biased)).toBeLessThan(1e-5);
    const [x, y] = [await onReference(gate), await onReference(b2)];
    const gated = x.map((value, i) => value - 2 * y[i]!);
    expect(worstOf(v!, gated)).toBeLessThan(1e-5);
  });
});

// With places as variables, too, an H200 takes half as long again.
test("of what is read ahead, quads alone are variables", () => {
  const variables = [...tileOf([weightOf("b", "f16")]).code.matchAll(/\bvar (left|right)(\w+?)\d* = /g)].map(([, , name]) => name);
  expect(new Set(variables)).toEqual(new Set(["Quad"]));
});

test("weights that are read in different ways are multiplied apart, and so are more than two", () => {
  const together = (...dtypes: readonly DType[]): boolean => multipliesTogether(dtypes.map((dtype, i) => weightOf(`b${i}`, dtype)));
  expect(together("q4_K", "q6_K")).toBe(true);
  expect(together("f16", "f16")).toBe(true);
  expect(together("f16", "q8_0")).toBe(false);
  expect(together("q8_0", "q8_0", "q8_0")).toBe(false);
});

test("only products that may round both operands multiply matrices of halves", () => {
  const subgroupMatrices = [{ type: "f16", resultType: "f32", m: 16, n: 16, k: 16 }];
  const capabilities = { ...guaranteed, f16: true, subgroups: { min: 32, max: 32 }, subgroupMatrices };
  expect(readsHalves("q4_K", 256, { activations: "half" }, capabilities)).toBe(true);
  expect(readsHalves("f16", 64, { activations: "ggml" }, capabilities)).toBe(true);
  expect(readsHalves("q4_K", 256, { activations: "f32" }, capabilities)).toBe(false);
  expect(readsHalves("f32", 256, { activations: "half" }, capabilities)).toBe(false);
  expect(readsHalves("f16", 40, { activations: "half" }, capabilities)).toBe(false);
  expect(readsHalves("f16", 64, { activations: "half" }, { ...capabilities, subgroups: { min: 4, max: 128 } })).toBe(false);
});
