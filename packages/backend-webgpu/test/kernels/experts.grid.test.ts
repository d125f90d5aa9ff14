import { contentsOf, uniform } from "@centella/conformance";
import { type Activations, type Backend, createProgram, type DType, type Plan, reference } from "@centella/core";
import { elementCount, ops } from "@centella/core/backend";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { type OptionalFeature, subgroupLanes } from "../../src/device/capabilities.ts";
import { toDevice } from "../../src/device/layout.ts";
import { type ExpertRows, mostTiles, rowsByExpert, type SlotMemory, sortRows } from "../../src/kernels/experts/expertRows.ts";
import { halfBytes, halfRowsDispatch } from "../../src/kernels/matrices/halfRows.ts";
import { matrixTile, smallestForm } from "../../src/kernels/matrices/matrixTiles.ts";
import type { MatrixForm } from "../../src/kernels/matrices/matrixUnit.ts";
import type { Binding, Dispatch } from "../../src/kernels/shared/kernel.ts";
import { unitBytes } from "../../src/kernels/shared/roundedUnits.ts";
import { rowElement } from "../../src/kernels/shared/weights.ts";
import { storeText } from "../../src/wgsl/epilogue.ts";
import { input, output } from "../../src/wgsl/module.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend, openGuardedDevice } from "../support/openBackend.ts";
import { Dispatches } from "../wgsl/kernelTexts.ts";
import { emulatedUnit } from "./emulatedMatrices.ts";
import { runDispatches } from "./runDispatches.ts";

const [experts, n, k, chosen] = [4, 67, 512, 2];

/** Tokens of runs: rows one by one, sorted by expert, and, for floats, in tiles. */
const counts = [1, 2, 8, 9, 20, 64, 65];

interface Form {
  readonly dtype: DType;
  readonly activations: Activations;
  /** Whether each expert of a token has a row of activations of its own. */
  readonly isEach: boolean;
}

/** Plans of the product of up to 65 tokens, on each backend. */
function plansOf(backends: readonly Backend[], { dtype, activations, isEach }: Form): Promise<readonly Plan[]> {
  const program = createProgram();
  const tokens = program.dim("T", Math.max(...counts));
  const x = program.input("x", "f32", isEach ? [tokens, chosen, k] : [tokens, k]);
  const shape = [experts, n, k];
  const weight = program.constant(contentsOf({ dtype, shape }, 3).stored, dtype, shape);
  program.output("y", program.moeMatmul(x, weight, program.input("ids", "i32", [tokens, chosen]), { activations }));
  return Promise.all(backends.map((backend) => backend.compile(program)));
}

/** Expert 2 has no rows, expert 1 few. */
const idsOf = (tokens: number): Int32Array =>
  Int32Array.from({ length: tokens * chosen }, (_, i) => (i % 11 === 3 ? 1 : i % 3 === 0 ? 3 : 0));

const inputsOf = (tokens: number, { isEach }: Form, ids = idsOf(tokens)) => ({
  x: uniform(tokens, tokens * k * (isEach ? chosen : 1)),
  ids,
});

async function largestDifference(backend: Backend, form: Form): Promise<number> {
  const plans = await plansOf([backend, await reference().open()], form);
  let worst = 0;
  for (const tokens of counts) {
    const [got, want] = await Promise.all(plans.map((plan) => plan.run(inputsOf(tokens, form)).y!.data()));
    expect(got!.length).toBe(want!.length);
    want!.forEach((value, i) => {
      worst = Math.max(worst, Math.abs(value - got![i]!));
    });
  }
  for (const plan of plans) plan.dispose();
  return worst;
}

const forms: readonly Form[] = [
  { dtype: "q4_K", activations: "ggml", isEach: false },
  { dtype: "q4_K", activations: "f32", isEach: true },
  ...(isWholeGrid
    ? ([
        { dtype: "q8_0", activations: "ggml", isEach: true },
        { dtype: "q6_K", activations: "ggml", isEach: false },
        { dtype: "f16", activations: "ggml", isEach: false },
        { dtype: "bf16", activations: "f32", isEach: false },
        { dtype: "f32", activations: "f32", isEach: true },
      ] as const)
    : []),
];

const sets: Readonly<Record<string, readonly OptionalFeature[]>> = {
  "all features": [],
  subgroups: ["packed_4x8_integer_dot_product"],
  "no features": ["subgroups", "packed_4x8_integer_dot_product"],
};

for (const [name, disabledFeatures] of Object.entries(sets)) {
  await describeOpened(`products with experts, ${name}`, openBackend({ disabledFeatures }), ({ backend }) => {
    afterAll(() => backend.dispose());

    test.each(forms)("of $dtype with $activations activations, a row for each: $isEach", async (form) => {
      expect(await largestDifference(backend, form)).toBeLessThan(1e-4);
    });

    test("of rows without an expert are 0, whatever the number of rows", async () => {
      const form: Form = { dtype: "q8_0", activations: "f32", isEach: false };
      const [plan] = await plansOf([backend], form);
      for (const tokens of counts) {
        const ids = idsOf(tokens);
        const all = await plan!.run(inputsOf(tokens, form, ids)).y!.data();
        const missing = ids.map((id, i) => (i % 5 === 0 ? [-1, experts, 2 ** 31 - 1][i % 3]! : id));
        const some = await plan!.run(inputsOf(tokens, form, missing)).y!.data();
        expect(some).toEqual(all.map((value, at) => (Math.floor(at / n) % 5 === 0 ? 0 : value)));
      }
      plan!.dispose();
    });
  });
}

// SwiftShader has 256 lanes, as many as this form has. Devices with more choose it; their own forms for fewer columns are not run here.
await describeOpened("products with experts of many rows", openGuardedDevice(), ({ device, capabilities }) => {
  afterAll(() => device.destroy());

  // A minute on SwiftShader: only the whole grid has it (CENTELLA_GRID=all).
  test.skipIf(!isWholeGrid)("equal those of small devices in the form of large ones (in the whole grid)", async () => {
    const [many, columns, depth, rows] = [64, 256, 64, 400];
    const weight = contentsOf({ dtype: "q8_0", shape: [many, columns, depth] }, 3);
    const x = uniform(5, rows * depth);
    const ids = Int32Array.from({ length: rows }, (_, i) => (i % 7 === 0 ? -1 : (i * i) % many));
    const inputs = [{ dtype: "f32", shape: [rows, depth] }, weight.spec, { dtype: "i32", shape: [rows, 1] }] as const;
    const kernelsOf = (maxLanes: number) =>
      new Dispatches({ ...capabilities, maxLanes }).ofCall(
        ops.moeMatmul,
        inputs,
        { activations: "ggml" },
        { dtype: "f32", shape: [rows, 1, columns] },
      );
    const [rounding, sorting, small] = kernelsOf(256).map(({ dispatch }) => dispatch);
    const large = kernelsOf(512)[2]!.dispatch;
    expect(large.sizeIn({}).groups).toBeLessThan(small!.sizeIn({}).groups);
    const contents = {
      x: bytesOf(x),
      ids: bytesOf(ids),
      b: Uint8Array.from(toDevice(weight.spec, weight.stored)),
      units: unitBytes(x.length),
      slots: 2 ** 13,
      tileExperts: 2 ** 10,
      y: 4 * rows * columns,
    };
    const multiplied = async (dispatch: Dispatch): Promise<Float32Array> => {
      const names = { ids: "ids", slots: "slots", tileExperts: "tileExperts" };
      const bound = [
        { dispatch: rounding!, buffers: { a: "x", y: "units" } },
        { dispatch: sorting!, buffers: names },
        { dispatch, buffers: { ...names, a: "units", b: "b", y: "y" } },
      ];
      const [y] = await runDispatches(device, bound, contents, ["y"]);
      return new Float32Array(y!);
    };
    const [got, want] = [await multiplied(large), await multiplied(small!)];
    expect(want.subarray(0, columns)).toEqual(new Float32Array(columns));
    expect(want.subarray(columns, 2 * columns).some((value) => value !== 0)).toBe(true);
    expect(Math.max(...want.map((value, i) => Math.abs(value - got[i]!)))).toBeLessThan(1e-4);
  });
});

/** The bytes of numbers. */
function bytesOf({ buffer }: Float32Array | Int32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer);
}

/** A form with fewer lanes than those of devices. */
const fewLanes: MatrixForm = { rows: 32, columns: 32, depth: 32, down: 2, across: 1 };

await describeOpened("products with experts by matrices that subgroups multiply", openGuardedDevice(), ({ device, capabilities }) => {
  afterAll(() => device.destroy());

  // Expert 2 has no rows, some rows have no expert, and neither rows nor columns fill the last tiles.
  test.each([
    ["f16", false, fewLanes],
    ["q4_K", true, fewLanes],
    ["q8_0", false, smallestForm],
  ] as const)("equal the reference with weights of %s, a row for each: %s, emulated in workgroup memory", async (dtype, isEach, form) => {
    const [columns, depth, tokens] = [45, 256, 70];
    const m = tokens * chosen;
    const shape = isEach ? [tokens, chosen, depth] : [tokens, depth];
    // Halves have these numbers exactly, those of every third row only after they are scaled.
    const factorOf = (i: number): number => (Math.floor(i / depth) % 3 === 1 ? 2 ** 20 : 2 ** -6);
    const x = uniform(7, elementCount(shape)).map((value, i) => Math.round(value * 64) * factorOf(i));
    const isMissing = (row: number): boolean => row % 17 === 5;
    const ids = idsOf(tokens).map((id, row) => (isMissing(row) ? [-1, experts][row % 2]! : id));
    const weight = contentsOf({ dtype, shape: [experts, columns, depth] }, 3);
    const scratch = (name: string, bytes: number, slot: number, element: Binding["element"]): Binding => {
      return { name, resource: { kind: "scratch", bytes, slot }, access: "read", element };
    };
    const a = { dtype: "f32", shape } as const;
    const halves = scratch("halves", halfBytes(a), 0, "vec4u");
    const tiles = mostTiles(m, experts, form.rows);
    const memory: SlotMemory = {
      slots: scratch("slots", 4 * tiles * form.rows, 1, "u32"),
      tiles: scratch("tileExperts", 4 * tiles, 2, "u32"),
    };
    const rows: ExpertRows = { ids: { dtype: "i32", shape: [tokens, chosen] }, experts, sharers: isEach ? 1 : chosen };
    const weights = [{ binding: input("b", 1, rowElement(dtype)), dtype }];
    const results = [{ suffix: "", weights, columns, y: output("y"), store: storeText(undefined) }];
    const parts = { results, halves, depth, rowsIn: () => m, order: rowsByExpert(rows, memory) };
    const options = { least: 1, subgroup: subgroupLanes(capabilities) };
    const own = Object.fromEntries(["ids", "slots", "tileExperts", "halves", "b", "y"].map((name) => [name, name]));
    const dispatches = [
      { dispatch: halfRowsDispatch(a, { binding: input("a", 0), blocks: undefined }, halves, options), buffers: { a: "x", y: "halves" } },
      { dispatch: sortRows(rows, memory, () => form.rows, capabilities), buffers: own },
      { dispatch: matrixTile(parts, form, emulatedUnit, () => true), buffers: own },
    ];
    const contents = {
      x: bytesOf(x),
      ids: bytesOf(ids),
      b: Uint8Array.from(toDevice(weight.spec, weight.stored)),
      halves: halfBytes(a),
      slots: 4 * tiles * form.rows,
      tileExperts: 4 * tiles,
      y: 4 * m * columns,
    };
    const [y] = await runDispatches(device, dispatches, contents, ["y"]);
    const program = createProgram();
    const [values, chosenIds] = [program.input("x", "f32", shape), program.input("ids", "i32", [tokens, chosen])];
    program.output("y", program.moeMatmul(values, program.constant(weight.stored, dtype, weight.spec.shape), chosenIds));
    const plan = await (await reference().open()).compile(program);
    // The reference refuses rows without an expert, whose results are 0.
    const all = (await plan.run({ x, ids: idsOf(tokens) }).y!.data()) as Float32Array;
    const want = all.map((value, at) => (isMissing(Math.floor(at / columns)) ? 0 : value));
    const got = new Float32Array(y!);
    for (let row = 0; row < m; row++) {
      const [ours, own] = [got, want].map((values) => values.subarray(row * columns, (row + 1) * columns));
      const limit = 1e-5 * Math.max(...own!.map(Math.abs));
      expect(Math.max(...own!.map((value, i) => Math.abs(value - ours![i]!))), `row ${row}`).toBeLessThanOrEqual(limit);
    }
  });
});
