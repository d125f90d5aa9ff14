import { contentsOf } from "@centella/conformance";
import { type Activations, createProgram, type DType, type Program, reference, type TypedArray, type Value } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { type Capabilities, guaranteed } from "../../src/device/capabilities.ts";
import type { OpenDevice } from "../../src/device/device.ts";
import { toDevice } from "../../src/device/layout.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openGuardedDevice } from "../support/openBackend.ts";
import { Dispatches } from "../wgsl/kernelTexts.ts";
import { exchangeBytes, withoutSubgroups } from "./emulatedSubgroups.ts";
import { runCall } from "./runCall.ts";

/** A program of one call without symbolic dims. */
type Recorded = (program: Program, input: (dtype: DType, ...shape: number[]) => Value) => Value;

/** The largest difference of a call on a device with emulated subgroups of a size from the reference, relative to the largest result. */
async function worstError({ device, capabilities }: OpenDevice, size: number, record: Recorded): Promise<number> {
  const program = createProgram();
  const inputs: TypedArray[] = [];
  const bytes: Uint8Array<ArrayBuffer>[] = [];
  const output = record(program, (dtype, ...shape) => {
    const { stored } = contentsOf({ dtype, shape }, inputs.length + 1);
    inputs.push(stored);
    bytes.push(Uint8Array.from(toDevice({ dtype, shape }, stored)));
    return program.input(`x${inputs.length - 1}`, dtype, shape);
  });
  program.output("y", output);
  const plan = await (await reference().open()).compile(program);
  const want = await plan.run(Object.fromEntries(inputs.map((input, i) => [`x${i}`, input]))).y!.data();
  const emulated: Capabilities = {
    ...guaranteed,
    packedDotProducts: capabilities.packedDotProducts,
    workgroupBytes: capabilities.workgroupBytes - exchangeBytes,
    subgroups: { min: size, max: size },
  };
  const { op, inputs: ids, params } = elementAt(program.nodes, program.nodes.length - 1);
  const specs = ids.map((id) => (id === undefined ? undefined : elementAt(program.values, id).spec));
  const named = new Dispatches(emulated).ofCall(op, specs, params, output.spec);
  const dispatches = named.map(({ dispatch }) => dispatch).filter(({ sizeIn }) => sizeIn({}).groups > 0);
  expect(dispatches.some(({ code }) => code.includes("subgroupShuffleXor"))).toBe(true);
  const got = await runCall(device, dispatches.map(withoutSubgroups), bytes, want.byteLength);
  return relativeError(want instanceof Int32Array ? new Int32Array(got) : new Float32Array(got), want);
}

function relativeError(got: TypedArray, want: TypedArray): number {
  expect(got.length).toBe(want.length);
  let [largest, worst] = [0, 0];
  want.forEach((value, i) => {
    largest = Math.max(largest, Math.abs(value));
    worst = Math.max(worst, Math.abs(value - got[i]!));
  });
  return worst / largest;
}

/** More lanes than the subgroups of the software device have. */
const sizes = isWholeGrid ? [8, 16, 32, 64] : [32];

const types: readonly DType[] = isWholeGrid ? ["f32", "f16", "bf16", "q4_0", "q4_K", "q6_K", "q8_0", "iq4_nl"] : ["f16", "q4_K"];

const products = sizes.flatMap((size) =>
  types.flatMap((dtype) =>
    (["f32", "ggml"] as const)
      .filter((activations) => activations === "f32" || dtype.startsWith("q") || dtype.startsWith("iq"))
      .map((activations): readonly [number, DType, Activations] => [size, dtype, activations]),
  ),
);

const [columns, depth] = [67, 512];

/** Values that are summed up, or of which one is chosen, by the lanes of a workgroup. */
const reductions: Readonly<Record<string, Recorded>> = {
  "softmax of long rows": (p, input) => p.softmax(input("f32", 2, 5000)),
  "argmax of rows": (p, input) => p.argmax(input("f32", 3, 700)),
  "rmsNorm of rows": (p, input) => p.rmsNorm(input("f32", 3, 1500), input("f32", 1500), { eps: 1e-5 }),
  "sum of rows that workgroups share": (p, input) => p.sum(input("f32", 2, 40_000), { axis: 1 }),
  "the largest of a row that workgroups share": (p, input) => p.argmax(input("f32", 1, 40_000)),
  "cumsum of a row that workgroups share": (p, input) => p.cumsum(input("f32", 1, 40_000), { axis: 1 }),
};

await describeOpened("emulated subgroups", openGuardedDevice(), (opened) => {
  afterAll(() => opened.device.destroy());

  test.each(products)("of %i lanes multiply few rows by weights of %s in mode %s", async (size, dtype, activations) => {
    for (const rows of isWholeGrid ? [1, 2, 3, 5, 8] : [1, 3]) {
      const product: Recorded = (p, input) =>
        p.matmul(input("f32", rows, depth), input(dtype, columns, depth), { transposeB: true, activations });
      expect(await worstError(opened, size, product), `${rows} rows`).toBeLessThan(1e-5);
    }
  });

  test.each(sizes.flatMap((size) => Object.entries(reductions).map(([name, record]) => [size, name, record] as const)))(
    "of %i lanes compute %s",
    async (size, _name, record) => {
      expect(await worstError(opened, size, record)).toBeLessThan(1e-5);
    },
  );
});
