import { type Activations, createProgram, type DType, type Program } from "@centella/core";
import { expect, test } from "vitest";
import { type Capabilities, guaranteed } from "../../src/device/capabilities.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";
import { Dispatches, h200 } from "../wgsl/kernelTexts.ts";
import { type AttentionForm, attentionProducts } from "./attentionProducts.ts";

const most = 512;

/** The products of a layer of Llama 3's form with 8B parameters, of which queries, keys and values read a norm. */
function layer(form: Partial<AttentionForm> = {}): Program {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", most), 4096]);
  const norm = (name: string, of: typeof x) =>
    program.rmsNorm(of, program.persistent(name, { dtype: "f32", shape: [4096] }), { eps: 1e-5 });
  const times = (name: string, of: typeof x, [n, k]: readonly [number, number]) =>
    program.matmul(of, program.persistent(name, { dtype: "q4_K", shape: [n, k] }), { transposeB: true, activations: "ggml" });
  const llama: AttentionForm = { weights: ["q4_K", "q4_K", "q6_K"], columns: [4096, 1024, 1024], ...form };
  const { q, k, v } = attentionProducts(program, norm("norm", x), llama);
  program.output("k", k);
  program.output("v", v);
  const attended = program.add(x, times("o", q, [4096, 4096]));
  const rows = norm("ffnNorm", attended);
  const gated = program.mul(program.silu(times("gate", rows, [14336, 4096])), times("up", rows, [14336, 4096]));
  program.output("y", program.add(attended, times("down", gated, [4096, 14336])));
  return program;
}

/** The dispatches of a run of a number of rows. */
function dispatchesIn(program: Program, capabilities: Capabilities, rows: number): readonly Dispatch[] {
  const all = new Dispatches(capabilities).ofProgram(program).map(({ dispatch }) => dispatch);
  return all.filter(({ sizeIn }) => sizeIn({ T: rows }).groups > 0);
}

function matricesIn(program: Program, capabilities: Capabilities, rows: number): readonly Dispatch[] {
  return dispatchesIn(program, capabilities, rows).filter(({ code }) => code.includes("subgroupMatrixMultiply"));
}

const writesOf = ({ bindings }: Dispatch): number => bindings.filter(({ access }) => access === "read_write").length;

test("a prompt takes one dispatch of matrices for queries, keys and values, and one for gate and up projections", () => {
  for (const rows of [65, 128, 512]) {
    const dispatches = matricesIn(layer(), h200, rows);
    expect(dispatches.map(writesOf)).toEqual([3, 1, 1, 1]);
    // Each result has the tiles that it would have alone.
    const [together] = dispatches;
    const { groups, values } = together!.sizeIn({ T: rows });
    expect(values).toMatchObject({ m: rows, k: 4096, n0: 4096, n1: 1024, n2: 1024, end0: (groups * 4) / 6, end1: (groups * 5) / 6 });
  }
  expect(matricesIn(layer(), h200, 64)).toEqual([]);
});

test("rows are rounded to blocks and to halves by one dispatch", () => {
  // Two norms, and four times rows that are rounded and multiplied.
  expect(dispatchesIn(layer(), h200, 512)).toHaveLength(10);
});

test("weights and results are those of the dispatch for few rows", () => {
  const resourcesOf = ({ bindings }: Dispatch) =>
    bindings.filter(({ name }) => /^[by]\d/.test(name)).map(({ name, resource }) => [name, resource]);
  const few = dispatchesIn(layer(), h200, 3).find(({ bindings }) => bindings.some(({ name }) => name === "y2"));
  const [many] = matricesIn(layer(), h200, most);
  expect(resourcesOf(many!)).toHaveLength(6);
  expect(resourcesOf(many!)).toEqual(resourcesOf(few!));
});

test("results whose rows are rounded in different ways are dispatches of their own", () => {
  const mixed = layer({ weights: ["q4_K", "q8_0", "q6_K"] });
  expect(matricesIn(mixed, h200, 512).map(writesOf)).toEqual([2, 1, 1, 1, 1]);
});

test("dispatches of several results bind no more buffers than the device can", () => {
  for (const maxBindings of [8, 7, 6]) {
    const dispatches = matricesIn(layer(), { ...h200, maxBindings }, 512);
    for (const { bindings } of dispatches) expect(bindings.length).toBeLessThanOrEqual(maxBindings);
    // The rows, three weights and three results are seven.
    expect(dispatches.map(writesOf).slice(0, -3)).toEqual(maxBindings >= 7 ? [3] : [2, 1]);
  }
});

/** Products of one tensor with weights of some types. */
function siblings(weights: readonly DType[], activations: Activations): Program {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", most), 512]);
  for (const [i, dtype] of weights.entries()) {
    const weight = program.persistent(`w${i}`, { dtype, shape: [256, 512] });
    program.output(`y${i}`, program.matmul(x, weight, { transposeB: true, activations }));
  }
  return program;
}

test("halves are multiplied by matrices from 17 rows on, blocks from 65 on, and products that share their rows from the same number on", () => {
  const startOf = (...weights: readonly DType[]): number | undefined => {
    const program = siblings(weights, "half");
    return [9, 16, 17, 64, 65].find((rows) => matricesIn(program, h200, rows).length > 0);
  };
  expect(startOf("f16")).toBe(17);
  expect(startOf("q4_K")).toBe(65);
  expect(startOf("f16", "q4_K")).toBe(65);
});

test.each<readonly [DType[], Activations]>([
  [["f16", "f16"], "f32"],
  [["f16", "bf16"], "half"],
  [["f16", "q4_K"], "half"],
  [["f16"], "ggml"],
  [["q6_K", "q4_K"], "ggml"],
])("fused products of %j in mode %s: a run writes each result once, whatever its number of rows", (weights, activations) => {
  const program = siblings(weights, activations);
  for (const capabilities of [h200, { ...h200, subgroupMatrices: [] }, guaranteed]) {
    for (const rows of [1, 2, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 127, 128, 512]) {
      const bindings = dispatchesIn(program, capabilities, rows).flatMap((dispatch) => dispatch.bindings);
      const written = bindings.filter(({ access }) => access === "read_write").map(({ resource }) => JSON.stringify(resource));
      expect(written.length, `${rows} rows: ${written}`).toBe(new Set(written).size);
      expect(
        written.filter((resource) => !resource.includes("scratch")),
        `${rows} rows`,
      ).toHaveLength(weights.length);
    }
  }
});
