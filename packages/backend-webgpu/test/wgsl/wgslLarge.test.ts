import { createProgram, type DType, type Program, type Value } from "@centella/core";
import { describe, expect, test } from "vitest";
import type { Capabilities } from "../../src/device/capabilities.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";
import { attentionProducts } from "../kernels/attentionProducts.ts";
import { Dispatches, h200 } from "./kernelTexts.ts";

const withoutMatrices: Capabilities = { ...h200, subgroupMatrices: [] };

type Input = (dtype: DType, ...shape: number[]) => Value;
type Record = (program: Program, input: Input) => Value | readonly Value[];

/** `rows` of activations by a weight. */
const product =
  (dtype: DType, rows: number, activations: "f32" | "half" | "ggml", [n, k] = [4096, 4096] as const): Record =>
  (p, x) =>
    p.matmul(x("f32", rows, k), p.persistent("w", { dtype, shape: [n, k] }), { transposeB: true, activations });

type Pair = readonly [number, number];

const attention =
  (tokens: number, keys: number, [heads, kvHeads]: Pair = [32, 8], [dK, dV]: Pair = [128, 128]): Record =>
  (p, x) => {
    const cache = p.persistent("cache", { dtype: "f16", shape: [keys, kvHeads, dK + dV] });
    const [q, positions, seqOf] = [x("f32", tokens, heads, dK), x("i32", tokens), x("i32", tokens)];
    const [table, lengths] = [x("i32", 1, keys / 32), x("i32", 1)];
    return p.attention(q, cache, positions, seqOf, table, lengths, { scale: 0.1, blockSize: 32, activations: "half" });
  };

const calls: Readonly<{ [name: string]: readonly [record: Record, capabilities?: Capabilities] }> = {
  "one row with an f16 weight, by subgroups": [product("f16", 1, "half")],
  "one row with a Q4_K weight, by packed dot products": [product("q4_K", 1, "ggml")],
  "one row with a Q6_K weight, by packed dot products": [product("q6_K", 1, "ggml")],
  "one row with a Q8_0 weight, by packed dot products": [product("q8_0", 1, "ggml")],
  "one row with a Q4_K weight in f32": [product("q4_K", 1, "f32")],
  "16 rows with a Q4_K weight, by packed dot products": [product("q4_K", 16, "ggml")],
  "tiles of a Q4_K weight, by packed dot products": [product("q4_K", 512, "ggml"), withoutMatrices],
  "tiles of an f32 weight": [product("f32", 512, "f32")],
  "tiles of an f16 weight without matrices": [product("f16", 512, "half"), withoutMatrices],
  "tiles of a Q4_K weight in f32": [product("q4_K", 512, "f32"), withoutMatrices],
  "matrices of an f16 weight": [product("f16", 512, "half")],
  "matrices of a Q4_K weight": [product("q4_K", 512, "ggml")],
  "matrices of two Q4_K weights, one of which gates the other's product": [
    (p, x) => {
      const rows = x("f32", 512, 4096);
      const [gate, up] = ["gate", "up"].map((name) => {
        const w = p.persistent(name, { dtype: "q4_K", shape: [14336, 4096] });
        return p.matmul(rows, w, { transposeB: true, activations: "ggml" });
      });
      return p.mul(p.silu(gate!), up!);
    },
  ],
  "matrices of queries, keys with a bias, and values": [
    (p, x) => {
      const { q, k, v } = attentionProducts(p, x("f32", 512, 4096), { weights: ["q4_K", "q4_K", "q6_K"], columns: [4096, 1024, 1000] });
      return [q, p.add(k, x("f32", 1024)), v];
    },
  ],
  "attention of a prompt": [attention(512, 512)],
  "attention of one token": [attention(1, 4096)],
  "attention of one token to latent keys": [attention(1, 4096, [16, 1], [576, 512])],
  "convolution by tiles": [(p, x) => p.conv2d(x("f32", 1, 32, 256, 256), x("f32", 32, 32, 3, 3), { padding: [1, 1] })],
  "sum of a million": [(p, x) => p.sum(x("f32", 2 ** 20))],
  "softmax of long rows": [(p, x) => p.softmax(x("f32", 64, 8192))],
};

function dispatchesOf([record, capabilities = h200]: (typeof calls)[string]): readonly Dispatch[] {
  const program = createProgram();
  const results = record(program, (dtype, ...shape) => program.input(String(program.inputs.size), dtype, shape));
  for (const [i, result] of [results].flat().entries()) program.output(`y${i}`, result);
  return new Dispatches(capabilities).ofProgram(program).map(({ dispatch }) => dispatch);
}

describe("generated WGSL for an H200", () => {
  for (const [name, call] of Object.entries(calls)) {
    test(name, () => {
      // What a run of these extents dispatches.
      for (const { code } of dispatchesOf(call).filter((dispatch) => dispatch.sizeIn({}).groups > 0)) expect(code).toMatchSnapshot();
    });
  }

  test("subgroups, packed dot products and matrices are in the texts", () => {
    const textOf = (name: string): string =>
      dispatchesOf(calls[name]!)
        .map(({ code }) => code)
        .join("\n");
    expect(textOf("one row with an f16 weight, by subgroups")).toMatch(/subgroup(Add|Shuffle)/);
    for (const name of ["one row with a Q4_K weight, by packed dot products", "tiles of a Q4_K weight, by packed dot products"])
      expect(textOf(name)).toContain("dot4I8Packed");
    for (const name of ["matrices of an f16 weight", "matrices of a Q4_K weight"]) expect(textOf(name)).toContain("subgroupMatrixMultiply");
  });
});
