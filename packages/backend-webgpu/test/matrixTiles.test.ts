import { contentsOf, uniform } from "@centella/conformance";
import { createProgram, type DType, reference } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { guaranteed, subgroupLanes } from "../src/device/capabilities.ts";
import { type OpenDevice, openDevice } from "../src/device/device.ts";
import { toDevice } from "../src/device/layout.ts";
import { halfBytes, halfRowsDispatch } from "../src/kernels/shared/halfRows.ts";
import type { Binding, Dispatch } from "../src/kernels/shared/kernel.ts";
import { matrixTile, readsHalves } from "../src/kernels/shared/matrixTiles.ts";
import { storeText } from "../src/wgsl/epilogue.ts";
import { input } from "../src/wgsl/module.ts";
import { describeOpened } from "./describeOpened.ts";
import { emulatedUnit } from "./emulatedMatrices.ts";
import { runDispatches } from "./runDispatches.ts";

useSwiftShader();

const [m, n, depth] = [70, 45, 64];
const form = { rows: 32, columns: 32, depth: 32, down: 2, across: 1 };

const halves: Binding = {
  name: "halves",
  resource: { kind: "scratch", bytes: halfBytes({ dtype: "f32", shape: [m, depth] }) },
  access: "read",
  element: "vec4u",
};

function tileOf(dtype: DType): Dispatch {
  const parts = { left: input("a", 0), isPacked: false, dtype, depth, columns: n, store: storeText(undefined), rowsIn: () => m };
  return matrixTile(parts, halves, form, emulatedUnit, () => true);
}

/** Rows that halves have exactly; the second one only after it is scaled. */
const rows = uniform(7, m * depth).map((value, i) => Math.round(value * 64) * (i >= depth && i < 2 * depth ? 2 ** 20 : 2 ** -6));

async function onDevice({ device, capabilities }: OpenDevice, dtype: DType, stored: Parameters<typeof toDevice>[1]): Promise<Float32Array> {
  const a = { dtype: "f32", shape: [m, depth] } as const;
  const options = { least: 1, subgroup: subgroupLanes(capabilities) };
  const dispatches = [
    { dispatch: halfRowsDispatch(a, { binding: input("a", 0), units: undefined }, halves, options), buffers: { a: "a", y: "halves" } },
    { dispatch: tileOf(dtype), buffers: { halves: "halves", b: "b", y: "y" } },
  ];
  const b = Uint8Array.from(toDevice({ dtype, shape: [n, depth] }, stored));
  const contents = { a: new Uint8Array(rows.buffer as ArrayBuffer), halves: halfBytes(a), b, y: 4 * m * n };
  return new Float32Array(await runDispatches(device, dispatches, contents, "y"));
}

async function onReference(dtype: DType, stored: Parameters<typeof toDevice>[1]): Promise<Float32Array> {
  const program = createProgram();
  const weight = program.constant(stored, dtype, [n, depth]);
  program.output("y", program.matmul(program.input("x", "f32", [m, depth]), weight, { transposeB: true }));
  const plan = await (await reference().open()).compile(program);
  return (await plan.run({ x: rows }).y!.data()) as Float32Array;
}

await describeOpened("tiles of matrices that subgroups multiply", openDevice({}), (opened) => {
  afterAll(() => opened.device.destroy());

  test.each(["f16", "q8_0"] as const)("equal the reference with weights of %s, emulated in workgroup memory", async (dtype) => {
    const { stored } = contentsOf({ dtype, shape: [n, depth] }, 3);
    const [got, want] = [await onDevice(opened, dtype, stored), await onReference(dtype, stored)];
    const largest = (row: number): number => Math.max(...want.subarray(row * n, (row + 1) * n).map(Math.abs));
    const worst = want.map((value, i) => Math.abs(value - got[i]!) / largest(Math.floor(i / n)));
    expect(Math.max(...worst)).toBeLessThan(1e-5);
  });
});

// With places as variables, too, an H200 takes half as long again.
test("of what is read ahead, quads alone are variables", () => {
  const variables = [...tileOf("f16").code.matchAll(/\bvar (left|right)(\w+?)\d* = /g)].map(([, , name]) => name);
  expect(new Set(variables)).toEqual(new Set(["Quad"]));
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
