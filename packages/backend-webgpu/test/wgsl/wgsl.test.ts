import { readdirSync } from "node:fs";
import { createProgram, type Dim, type DType, type Program, UnsupportedError, type Value } from "@centella/core";
import { type FusedParams, fused, lower, ops } from "@centella/core/backend";
import { gpuKernels } from "@centella/gpu-kernels";
import { describe, expect, test } from "vitest";
import { guaranteed } from "../../src/device/capabilities.ts";
import { kernelTableFor } from "../../src/kernels/index.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";
import { grid } from "../../src/plan/variant.ts";
import { Dispatches } from "./kernelTexts.ts";

const T = { name: "T", max: 512 };

const kernelTable = kernelTableFor(guaranteed);
const { unsupported } = kernelTable;

type Input = (dtype: DType, ...shape: Dim[]) => Value;

/** The kernels of a one-op program: what a compiled plan would dispatch, without a device. */
function kernelsFor(record: (program: Program, input: Input) => Value): readonly Dispatch[] {
  const program = createProgram();
  record(program, (dtype, ...shape) => program.input(String(program.inputs.size), dtype, shape));
  const { op, inputs, params, output } = program.nodes.at(-1)!;
  const specs = inputs.map((id) => (id === undefined ? undefined : program.values[id]!.spec));
  const { spec } = program.values[output]!;
  return kernelTable.kernelOf(op)!.dispatches({ inputs: specs, output: spec }, params);
}

const kv = (p: Program, dtype: DType, size: number): Value => p.persistent("cache", { dtype, shape: [64, 2, size] });

const calls: Readonly<Record<string, Parameters<typeof kernelsFor>[0]>> = {
  "add of one shape": (p, x) => p.add(x("f32", T, 64), x("f32", T, 64)),
  "mul with a row": (p, x) => p.mul(x("i32", T, 64), x("i32", 64)),
  relu: (p, x) => p.relu(x("f32", T)),
  clip: (p, x) => p.clip(x("f32", T), { min: -1, max: 1 }),
  elu: (p, x) => p.elu(x("f32", T)),
  gelu: (p, x) => p.gelu(x("f32", T)),
  sum: (p, x) => p.sum(x("f32", T, 64), { axis: 0 }),
  min: (p, x) => p.min(x("f32", T, 64), { axis: 1 }),
  argmax: (p, x) => p.argmax(x("f32", T, 64)),
  dot: (p, x) => p.dot(x("f32", T), x("f32", T)),
  softmax: (p, x) => p.softmax(x("f32", T, 64)),
  rmsNorm: (p, x) => p.rmsNorm(x("f32", T, 64), x("f32", 64), { eps: 1e-5 }),
  "matmul of T rows with an f16 weight": (p, x) => p.matmul(x("f32", T, 64), x("f16", 32, 64), { transposeB: true }),
  "matmul of one row": (p, x) => p.matmul(x("f32", 1, 64), x("bf16", 64, 32)),
  "matmul of batches": (p, x) => p.matmul(x("f32", 3, 1, 64, 9), x("f32", 2, 64, 32), { transposeA: true }),
  "matmul with activations as in ggml": (p, x) => p.matmul(x("f32", 1, 256), x("q4_K", 32, 256), { transposeB: true, activations: "ggml" }),
  "cast to a byte": (p, x) => p.cast(x("f32", T, 3), { dtype: "i8" }),
  "gather of halves": (p, x) => p.gather(x("f16", 8, 5), x("i32", T), { axis: 1 }),
  "concat of aligned columns": (p, x) => p.concat([x("f32", T, 8), x("f32", T, 12)], { axis: 1 }),
  "slice of many aligned columns": (p, x) => p.slice(x("f16", T, 1024), { axis: 1, start: 256 }),
  "transpose of a matrix": (p, x) => p.transpose(x("f32", 67, 45)),
  "transpose of halves in whole tiles": (p, x) => p.transpose(x("f16", T, 128, 64), { axes: [0, 2, 1] }),
  "quantize to q4_0": (p, x) => p.quantize(x("f32", T, 64), { dtype: "q4_0" }),
  "softmax of columns of a run": (p, x) => p.softmax(x("f32", 64, T), { axis: 0 }),
  cumsum: (p, x) => p.cumsum(x("f32", T, 64), { axis: 0 }),
  moeMatmul: (p, x) => p.moeMatmul(x("f32", T, 256), x("q4_K", 8, 30, 256), x("i32", T, 2)),
  conv2d: (p, x) => p.conv2d(x("f32", 1, 4, 8, 8), x("f32", 6, 2, 3, 3), { groups: 2 }),
  ...Object.fromEntries(
    (["q4_0", "q5_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "q8_0", "iq4_xs", "mxfp4"] as const).map((dtype) => [
      `embedding from ${dtype}`,
      (p: Program, x: Input) => p.embedding(x(dtype, 100, 256), x("i32", T)),
    ]),
  ),
  embedding: (p, x) => p.embedding(x("f16", 100, 64), x("i32", T)),
  "rope with factors": (p, x) => {
    const factors = x("f32", 16);
    return p.rope(x("f32", T, 2, 32), x("i32", T), { ropeType: "neox", freqFactors: factors });
  },
  "kvWrite in f16": (p, x) => p.kvWrite(kv(p, "f16", 64), x("f32", T, 2, 32), x("f32", T, 2, 32), x("i32", T)),
  "kvWrite in q8_0": (p, x) => p.kvWrite(kv(p, "q8_0", 64), x("f32", T, 2, 32), x("f32", T, 2, 32), x("i32", T)),
  "kvWrite in f16, odd": (p, x) => p.kvWrite(kv(p, "f16", 7), x("f32", T, 2, 3), x("f32", T, 2, 4), x("i32", T)),
  "attention with everything": (p, x) => {
    const sinks = x("f32", 4);
    const [q, positions, seqOf, table, lengths] = [x("f32", T, 4, 32), x("i32", T), x("i32", T), x("i32", 2, 4), x("i32", 2)];
    const options = { scale: 0.2, blockSize: 16, window: 20, softcap: 30, alibi: 8, sinks };
    return p.attention(q, kv(p, "f16", 64), positions, seqOf, table, lengths, options);
  },
};

describe("generated WGSL", () => {
  for (const [name, record] of Object.entries(calls)) {
    test(name, () => {
      for (const { code } of kernelsFor(record)) expect(code).toMatchSnapshot();
    });
  }

  test("kernel files are ops that take precedence over shared ones", () => {
    const files = readdirSync(new URL("../../src/kernels", import.meta.url)).filter((file) => file.endsWith(".ts") && file !== "index.ts");
    const names = files.map((file) => file.replace(".ts", ""));
    const computing = [...Object.values(ops).flatMap((op) => (op.alias === true ? [] : [op.name])), fused.name];
    expect(names.filter((name) => !computing.includes(name))).toEqual([]);
    expect([...kernelTable.kernels.keys(), fused.name].sort()).toEqual([...new Set([...names, ...Object.keys(gpuKernels)])].sort());
  });

  test("a fused group is one kernel", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [T, 5]);
    const gate = program.sigmoid(program.add(x, program.input("row", "f32", [5])));
    const clipped = program.clip(program.mul(gate, program.input("s", "f32", [])), { min: -1, max: 1 });
    program.output("y", program.elu(program.add(clipped, program.input("column", "f32", [T, 1]))));
    const { steps } = lower(program, "webgpu", () => undefined);
    expect(steps.length).toBe(1);
    const { inputs, params, output } = steps[0]!;
    const build = (alpha: number) =>
      kernelTable
        .kernelOf(fused)!
        .dispatches(
          { inputs: inputs.map((operand) => operand?.spec), output: output.spec },
          { body: (params as FusedParams).body.map((call) => (call.op === ops.elu ? { ...call, params: { alpha } } : call)) },
        );
    const [kernel] = build(1);
    expect(kernel!.code).toMatchSnapshot();
    expect(kernel!.sizeIn({ T: 3 })).toMatchSnapshot();
    expect(build(2)[0]!.code).toBe(kernel!.code);
  });

  /** The kernels of a program that is one group. */
  const groupOf = (record: (program: Program, x: Input) => void): readonly Dispatch[] => {
    const program = createProgram();
    record(program, (dtype, ...shape) => program.input(String(program.inputs.size), dtype, shape));
    const { steps } = lower(program, "webgpu", unsupported);
    expect(steps.length).toBe(1);
    const { op, inputs, params, output } = steps[0]!;
    return kernelTable.kernelOf(op)!.dispatches({ inputs: inputs.map((operand) => operand?.spec), output: output.spec }, params);
  };

  test("a norm of a sum keeps it where it is computed: as a result, or in the place of its own result", () => {
    const record = (p: Program, x: Input, isResult: boolean): void => {
      const sum = p.add(x("f32", T, 64), x("f32", T, 64));
      if (isResult) p.output("sum", sum);
      p.output("y", p.rmsNorm(sum, x("f32", 64), { eps: 1e-5 }));
    };
    const [kept, alone] = [true, false].map((isResult) => groupOf((p, x) => record(p, x, isResult))[0]);
    expect(kept!.code).toMatchSnapshot();
    expect(kept!.bindings.map(({ resource }) => resource)).toEqual([
      { kind: "input", index: 0 },
      { kind: "input", index: 1 },
      { kind: "extraOutput", index: 0 },
      { kind: "input", index: 2 },
      { kind: "output" },
    ]);
    expect(alone!.code).toMatch(/let f_\d+ = y\[u_\d+\];/);
  });

  test("a difference that rounds a value is not for compilers to simplify", () => {
    const [kernel] = groupOf((p, x) => {
      const value = x("f32", T);
      const product = p.scale(value, { by: 2 ** 13 + 1 });
      p.output("y", p.sub(product, p.sub(product, value)));
    });
    expect(kernel!.code).toMatch(
      /let (f_\d+) = (f_\d+) - f_\d+;\s+let (f_\d+) = bitcast<f32>\(bitcast<u32>\(\1\) \| \(p\.groups >> 31u\)\);\s+let f_\d+ = \2 - \3;/,
    );
  });

  test("the ropes of keys and queries are part of a write to a cache as far as the storage buffers go", () => {
    const lowered = (hasFactors: boolean, maxBindings: number): ReturnType<typeof lower> => {
      const program = createProgram();
      const x: Input = (dtype, ...shape) => program.input(String(program.inputs.size), dtype, shape);
      const positions = x("i32", T);
      const params = { ropeType: "norm", ...(hasFactors && { freqFactors: x("f32", 16) }) } as const;
      program.output("q", program.rope(x("f32", T, 4, 32), positions, params));
      program.kvWrite(kv(program, "f16", 64), program.rope(x("f32", T, 2, 32), positions, params), x("f32", T, 2, 32), x("i32", T));
      const kernels = kernelTableFor({ ...guaranteed, maxBindings });
      return lower(program, "webgpu", (...call) => kernels.unsupported(...call));
    };
    const stepsOf = (hasFactors: boolean, maxBindings: number) => lowered(hasFactors, maxBindings).steps.map(({ op }) => op.name);
    expect(stepsOf(true, 8)).toEqual(["rope", "fused"]);
    expect(stepsOf(true, 9)).toEqual(["fused"]);
    expect(stepsOf(false, 8)).toEqual(["fused"]);
    expect(lowered(true, 8).refused.map(({ reason }) => reason)).toEqual(["9 tensors in one kernel, which may have 8"]);
  });

  test("no kernel binds more than 8 storage buffers, what every device has", () => {
    for (const record of Object.values(calls))
      for (const { bindings } of kernelsFor(record)) expect(bindings.length).toBeLessThanOrEqual(8);
  });

  test("the text does not depend on extents, so that shapes share pipelines", () => {
    const codes = [8, 9, T].map((n) => kernelsFor((p, x) => p.softmax(x("f32", n, 64))).map(({ code }) => code));
    expect(codes[1]).toEqual(codes[0]);
    expect(codes[2]).toEqual(codes[0]);
  });

  test("one row, a few rows and many have forms of their own, and none has nothing to do", () => {
    const kernels = kernelsFor(calls["matmul of T rows with an f16 weight"]!);
    const groups = (rows: number): number[] => kernels.map((kernel) => kernel.sizeIn({ T: rows }).groups);
    // 32 columns, 4 of them in each workgroup; rows by four. Then tiles of 32 rows and columns: no run has enough larger ones.
    expect([0, 1, 4, 5, 16, 17, 64, 65].map(groups)).toEqual([
      [0, 0, 0],
      [8, 0, 0],
      [0, 8, 0],
      [0, 16, 0],
      [0, 32, 0],
      [0, 0, 1],
      [0, 0, 2],
      [0, 0, 3],
    ]);
    const blocks = kernelsFor((p, x) => p.matmul(x("f32", T, 64), x("q8_0", 32, 64), { transposeB: true }));
    // The same, but 16 columns by 16 rows before tiles of 64 rows and 32 columns.
    expect([8, 9, 64, 65].map((rows) => blocks.map((kernel) => kernel.sizeIn({ T: rows }).groups))).toEqual([
      [0, 16, 0, 0],
      [0, 0, 2, 0],
      [0, 0, 8, 0],
      [0, 0, 0, 2],
    ]);
    const wide = kernelsFor((p, x) => p.matmul(x("f32", T, 64), x("f16", 8192, 64), { transposeB: true }));
    const wideGroups = (rows: number): number[] => wide.map((kernel) => kernel.sizeIn({ T: rows }).groups).slice(2);
    // Tiles of 128, 64 and 32 rows and columns.
    expect(wideGroups(512)).toEqual([256, 0, 0]);
    expect(wideGroups(65)).toEqual([0, 256, 0]);
    const narrow = kernelsFor((p, x) => p.matmul(x("f32", T, 64), x("f16", 1024, 64), { transposeB: true }));
    expect(narrow.map((kernel) => kernel.sizeIn({ T: 512 }).groups).slice(2)).toEqual([128, 0]);
    expect(narrow.map((kernel) => kernel.sizeIn({ T: 65 }).groups).slice(2)).toEqual([0, 96]);
  });

  test("few rows read several weights at once, also where tiles do not", () => {
    const kernels = kernelsFor((p, x) => p.matmul(x("f32", T, 40), x("f16", 32, 40), { transposeB: true }));
    const groups = (rows: number): number[] => kernels.map((kernel) => kernel.sizeIn({ T: rows }).groups);
    expect([1, 16, 17].map(groups)).toEqual([
      [8, 0, 0],
      [0, 32, 0],
      [0, 0, 1],
    ]);
  });

  test("devices with large workgroups have a form for more than 32 rows of packed products", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 64), 256]);
    const weight = program.persistent("w", { dtype: "q8_0", shape: [8192, 256] });
    program.output("y", program.matmul(x, weight, { transposeB: true, activations: "ggml" }));
    const dispatches = new Dispatches({ ...guaranteed, packedDotProducts: true, maxLanes: 1024 }).ofProgram(program);
    // 64 columns by 16 rows in 512 lanes, then 128 by 16 in 256. The first dispatch rounds the rows.
    const groups = (rows: number): number[] => dispatches.slice(-2).map(({ dispatch }) => dispatch.sizeIn({ T: rows }).groups);
    expect([8, 16, 32, 33].map(groups)).toEqual([
      [0, 0],
      [128, 0],
      [256, 0],
      [0, 192],
    ]);
  });

  test("rows of experts are multiplied one by one, or sorted by expert and multiplied 16 or 64 at a time", () => {
    const kernels = kernelsFor(calls.moeMatmul!);
    const groups = (rows: number): number[] => kernels.map((kernel) => kernel.sizeIn({ T: rows }).groups);
    // Two experts of eight for each token. Sorting takes a workgroup; each expert, and rows of none, may have a tile that is not full.
    expect([0, 1, 23, 24, 127, 128].map(groups)).toEqual([
      [0, 0, 0, 0],
      [0, 2 * 8, 0, 0],
      [0, 46 * 8, 0, 0],
      [1, 0, 2 * (3 + 9), 0],
      [1, 0, 2 * (15 + 9), 0],
      [1, 0, 0, 4 + 9],
    ]);
    const alone = kernelsFor((p, x) => p.moeMatmul(x("f32", 1, 256), x("q4_K", 8, 30, 256), x("i32", 1, 2)));
    expect(alone.length).toBe(1);
  });

  test("workgroups beyond one axis take a second", () => {
    expect(grid("relu", 65_535, 65_535)).toEqual({ x: 65_535, y: 1 });
    expect(grid("relu", 65_536, 65_535)).toEqual({ x: 32_768, y: 2 });
    const refused =
      "webgpu: relu: unsupported: 4294836226 workgroups are more than the 4294836225 that the device can count; use smaller tensors";
    expect(() => grid("relu", 65_535 ** 2 + 1, 65_535)).toThrow(refused);
    expect(() => grid("relu", 65_535 ** 2 + 1, 65_535)).toThrow(UnsupportedError);
  });
});

describe("products of one tensor", () => {
  const kernelsOfGroup = (record: (program: Program, times: (rows: number, dtype: DType) => Value) => void): readonly Dispatch[] => {
    const program = createProgram();
    const x = program.input("x", "f32", [T, 256]);
    record(program, (rows, dtype) =>
      program.matmul(x, program.persistent(`w${program.persistents.size}`, { dtype, shape: [rows, 256] }), {
        transposeB: true,
        activations: "ggml",
      }),
    );
    const { steps } = lower(program, "webgpu", unsupported);
    expect(steps.length).toBe(1);
    const { op, inputs, params, output } = steps[0]!;
    return kernelTable.kernelOf(op)!.dispatches({ inputs: inputs.map((operand) => operand?.spec), output: output.spec }, params);
  };
  const dispatched = (kernels: readonly Dispatch[], rows: number): readonly number[] =>
    kernels.map((kernel) => kernel.sizeIn({ T: rows }).groups).filter((groups) => groups > 0);

  test("are one dispatch for few rows, after one that rounds, and one each for more", () => {
    const kernels = kernelsOfGroup((program, times) => {
      program.output("q", times(128, "q4_K"));
      program.output("k", times(32, "q6_K"));
      program.output("v", times(32, "q4_K"));
    });
    expect(dispatched(kernels, 1)).toEqual([1, 192 / 4]);
    expect(dispatched(kernels, 4)).toEqual([4, 192 / 4]);
    expect(dispatched(kernels, 5)).toEqual([5, (2 * 192) / 4]);
    expect(dispatched(kernels, 9)).toEqual([9, 128 / 16, 32 / 16, 32 / 16]);
    expect(dispatched(kernels, 0)).toEqual([]);
    for (const { bindings } of kernels) expect(bindings.length).toBeLessThanOrEqual(8);
  });

  test("are one step if the sums of a result fit a workgroup's memory", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [T, 256]);
    const weights = Array.from({ length: 9 }, (_, i) => program.persistent(`w${i}`, { dtype: "f16", shape: [64, 256] }));
    const results = weights.map((weight) => program.matmul(x, weight, { transposeB: true }));
    program.output(
      "y",
      results.reduce((sum, result) => program.add(sum, result)),
    );
    const loweredFor = (workgroupBytes: number) => {
      const kernels = kernelTableFor({ ...guaranteed, maxBindings: 16, workgroupBytes });
      return lower(program, "webgpu", (...call) => kernels.unsupported(...call));
    };
    expect(loweredFor(2 ** 15).steps.length).toBe(1);
    expect(loweredFor(2 ** 14).refused.map(({ reason }) => reason)).toContain("18432 bytes of a workgroup's memory, which has 16384");
  });

  test("with a gate store one result", () => {
    const kernels = kernelsOfGroup((program, times) => {
      program.output("y", program.mul(program.silu(times(64, "q8_0")), times(64, "q8_0")));
    });
    expect(dispatched(kernels, 1)).toEqual([8, 64 / 4]);
    expect(dispatched(kernels, 64)).toHaveLength(3);
    expect(kernels[1]!.code).toMatchSnapshot();
  });
});
