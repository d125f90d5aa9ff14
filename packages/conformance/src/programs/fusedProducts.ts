import { type Activations, type Backend, createProgram, type DType, type TypedArray, type Value } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { contentsOf, uniform } from "../data.ts";
import type { Tolerance } from "../opCases.ts";
import { expectExplained, expectLikeReference, type Run } from "./scenario.ts";

/** Products with epilogues: a bias, an activation, a gate, and a residual that is the product's own input. */
async function products(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 70);
  const x = program.input("x", "f32", [T, 32]);
  const bias = program.input("bias", "f32", [32]);
  const [w, v] = ["w", "v"].map((name) => program.persistent(name, { dtype: "f32", shape: [32, 32] })) as [Value, Value];
  const q = program.persistent("q", { dtype: "q8_0", shape: [32, 32] });
  const gate = program.silu(program.matmul(x, w, { transposeB: true }));
  const up = program.add(program.matmul(x, v), bias);
  const mixed = program.add(program.matmul(program.mul(gate, up), q, { transposeB: true, activations: "ggml" }), x);
  program.output("mixed", mixed);
  program.output("last", program.relu(program.scale(program.matmul(mixed, q, { transposeB: true }), { by: 0.1 })));
  const weights = { w: uniform(1, 1024), v: uniform(2, 1024), q: contentsOf({ dtype: "q8_0", shape: [32, 32] }, 3).stored };
  const runs = [1, 3, 9, 70].map((rows) => ({ inputs: { x: uniform(4, 32 * rows), bias: uniform(5, 32) } }));
  await expectLikeReference("products with epilogues", backend, program, weights, runs, { rtol: 1e-4, atol: 2e-2 });
}

/** Products of one tensor with several matrices, some with an epilogue of one or several products. */
async function siblings(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 12);
  const x = program.input("x", "f32", [T, 64]);
  const weights: Record<string, TypedArray> = {};
  const times = (name: string, dtype: DType, rows: number, activations: "ggml" | "f32"): Value => {
    const spec = { dtype, shape: [rows, 64] };
    weights[name] = contentsOf(spec, program.persistents.size).stored;
    return program.matmul(x, program.persistent(name, spec), { transposeB: true, activations });
  };
  const bias = program.input("bias", "f32", [36]);
  program.output("q", times("q", "q8_0", 40, "ggml"));
  program.output("k", program.add(times("k", "q8_0", 36, "ggml"), bias));
  program.output("v", times("v", "f32", 36, "ggml"));
  program.output("gated", program.mul(program.silu(times("gate", "q4_0", 44, "f32")), times("up", "q4_0", 44, "f32")));
  program.output("positive", program.relu(times("third", "f16", 34, "f32")));
  const runs = [1, 3, 12].map((rows) => ({ inputs: { x: uniform(rows, 64 * rows), bias: uniform(5, 36) } }));
  await expectLikeReference("products of one tensor", backend, program, weights, runs, { rtol: 1e-4, atol: 1e-3 });
}

/** Products of many rows with matrices of several widths and types: one with a bias, two of which one gates the other. */
async function manyRows(backend: Backend, activations: Activations, types: readonly [q: DType, k: DType, v: DType]): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [70, 256]);
  const weights: Record<string, TypedArray> = {};
  const times = (name: string, dtype: DType, rows: number): Value => {
    const spec = { dtype, shape: [rows, 256] };
    weights[name] = contentsOf(spec, program.persistents.size).stored;
    return program.matmul(x, program.persistent(name, spec), { transposeB: true, activations });
  };
  const [q, k, v] = types;
  program.output("q", times("q", q, 72));
  program.output("k", program.add(times("k", k, 36), program.input("bias", "f32", [36])));
  program.output("gated", program.mul(program.silu(times("gate", q, 20)), times("up", q, 20)));
  program.output("v", times("v", v, 20));
  const runs = [{ inputs: { x: uniform(70, 256 * 70), bias: uniform(5, 36) } }];
  const what = `products of many rows with ${types.join(", ")}, ${activations}`;
  await expectLikeReference(what, backend, program, weights, runs, roundedOperands);
}

/** A value whose last bit differs may be rounded to the neighbour; "half" permits 11 bits of each operand. */
const roundedOperands: Tolerance = { rtol: 0.02, atol: 0.3 };

/** Modes of products after norms, with the type of their weights. */
const normedForms = [
  ["f32", "q8_0"],
  ["half", "f16"],
  ["ggml", "q4_K"],
] as const;

/** Norms, alone or of a sum that is a result too, and the products that alone read them: one or several, with epilogues or without. */
async function normedProducts(backend: Backend, activations: Activations, dtype: DType): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 10);
  const [x, y] = ["x", "y"].map((name) => program.input(name, "f32", [T, 256])) as [Value, Value];
  const [w, bias] = [program.input("w", "f32", [256]), program.input("bias", "f32", [5])];
  const weights: Record<string, TypedArray> = {};
  const times = (from: Value, rows: number): Value => {
    const spec = { dtype, shape: [rows, 256] };
    const name = `w${program.persistents.size}`;
    weights[name] = contentsOf(spec, program.persistents.size).stored;
    return program.matmul(from, program.persistent(name, spec), { transposeB: true, activations });
  };
  const norm = (from: Value): Value => program.rmsNorm(from, w, { eps: 1e-5 });
  const input = norm(x);
  program.output("q", times(input, 9));
  program.output("k", program.add(times(input, 5), bias));
  const sum = program.add(x, program.mul(y, w));
  const middle = norm(sum);
  program.output("gated", program.mul(program.silu(times(middle, 6)), times(middle, 6)));
  program.output("sum", program.softmax(sum));
  program.output("one", times(norm(program.relu(y)), 4));
  const runs = [1, 2, 10, 0].map((rows): Run => {
    return { inputs: { x: uniform(rows, 256 * rows), y: uniform(rows + 50, 256 * rows), w: uniform(3, 256), bias: uniform(4, 5) } };
  });
  const rounded = activations === "f32" ? { rtol: 1e-4, atol: 2e-3 } : roundedOperands;
  const tolerance = (output: string): Tolerance => (output === "sum" ? { rtol: 1e-4, atol: 2e-5 } : rounded);
  const what = `norms before products, ${activations}`;
  await expectLikeReference(what, backend, program, weights, runs, tolerance);
  if (activations === "f32") await expectExplained(what, backend, program, weights, elementAt(runs, 0));
}

/** Groups with products. */
export const fusedProducts: readonly ConformanceTest[] = [
  programTest("a group that finishes a product", products),
  programTest("products of one tensor with several matrices", siblings),
  programTest("products of many rows with several matrices, ggml", (backend) => manyRows(backend, "ggml", ["q4_K", "q4_K", "q6_K"])),
  programTest("products of many rows with several matrices, half", (backend) => manyRows(backend, "half", ["f16", "q8_0", "f16"])),
  ...normedForms.map(([activations, dtype]) =>
    programTest(`norms before the products that alone read them, ${activations}`, (backend) => normedProducts(backend, activations, dtype)),
  ),
];
