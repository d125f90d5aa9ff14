import { cases } from "@centella/conformance";
import { createProgram, type Dim, type DType, type OpName, type TensorSpec, type Value } from "@centella/core";
import { type AnyOp, completeParams, type FusedParams, isFused, lower, ops } from "@centella/core/backend";
import { ggmlTypes } from "@centella/quant";
import type { KernelSource } from "../../src/device/modules.ts";
import { fusion, kernelTable } from "../../src/kernels/index.ts";
import { tilePowersEntry, tilePowersKernel } from "../../src/kernels/products/manyRows/tilePowers.ts";
import { type Gpu, hopper } from "../../src/kernels/shared/gpu.ts";
import type { Launch } from "../../src/kernels/shared/kernel.ts";
import { tensorCopy } from "../../src/kernels/shared/tensorCopy.ts";
import type { CallTexts } from "../../src/kernels/shared/texts.ts";
import { packEntry, packKernel } from "../../src/weights/packKernel.ts";
import { type UnitMatrix, unitFormat, unitMatrix } from "../../src/weights/unitFormat.ts";
import { unpackEntry, unpackKernel } from "../../src/weights/unpackKernel.ts";

/** One call that kernels are generated for. */
export interface Call {
  readonly name: string;
  readonly op: AnyOp;
  readonly inputs: readonly (TensorSpec | undefined)[];
  readonly params: object;
  readonly bucket: Readonly<Record<string, number>>;
}

/** The launches of a call. `texts`: those that the call has at other buckets. */
export function launchesOf({ op, inputs, params, bucket }: Call, gpu: Gpu = hopper, texts?: CallTexts): readonly Launch[] {
  const output = op.infer(inputs, params);
  if (kernelTable.unsupported(op, inputs, params, output) !== undefined) return [];
  const slots = new Map(Object.keys(bucket).map((name, slot) => [name, slot]));
  return kernelTable.kernelOf(op)!.launches(
    {
      inputs,
      output,
      slots,
      bucket,
      gpu,
      unitsOf: (index) => unitsOf(op, inputs, index),
      isGiven: (index) => inputs[index]?.dtype === "i32",
      ...(texts && { texts }),
    },
    params,
  );
}

/** The form in units of a call's weights, where plans store them so. */
function unitsOf(op: AnyOp, inputs: Call["inputs"], index: number): UnitMatrix | undefined {
  const spec = inputs[index];
  const isWeight = isFused(op) || { matmul: 1, moeMatmul: 1, embedding: 0 }[op.name] === index;
  if (!isWeight || spec === undefined || spec.shape.some((extent) => typeof extent !== "number")) return undefined;
  return unitMatrix(spec.dtype, spec.shape as readonly number[]);
}

/** A call of an op; a parameter that is not given has its default. */
export function call<N extends OpName>(
  name: N,
  inputs: readonly (TensorSpec | undefined)[],
  params: object = {},
  bucket: Call["bucket"] = {},
): Call {
  const op: AnyOp = ops[name];
  return { name: `${name} ${JSON.stringify(params)} ${JSON.stringify(bucket)}`, op, inputs, params: completeParams(op, params), bucket };
}

export function f32(...shape: readonly Dim[]): TensorSpec {
  return { dtype: "f32", shape };
}

export function i32(...shape: readonly Dim[]): TensorSpec {
  return { dtype: "i32", shape };
}

/** The calls of the conformance suite's cases. */
function conformanceCalls(): readonly Call[] {
  return Object.entries(cases).flatMap(([name, { cases: list }]) => {
    const op: AnyOp = ops[name as OpName];
    if (op.alias === true) return [];
    return list.map(({ name: caseName, inputs, optional, params }): Call => {
      const tensors = [...inputs, ...(op.optionalInputs ?? []).map((input) => optional?.[input])];
      const specs = tensors.map((tensor) => tensor && { dtype: tensor.dtype, shape: tensor.shape });
      return { name: `${name}: ${caseName}`, op, inputs: specs, params: completeParams(op, params ?? {}), bucket: {} };
    });
  });
}

/** The calls of a Llama-like model at several numbers of tokens. */
function modelCalls(): readonly Call[] {
  const T = { name: "T", max: 512 };
  const N = { name: "nSeq", max: 4 };
  return [1, 2, 8, 9, 64, 512].flatMap((tokens) => {
    const bucket = { T: tokens, nSeq: 4 };
    const index = [i32(T), i32(T), i32(N, 16), i32(N)];
    const weight = (dtype: TensorSpec["dtype"], ...shape: readonly number[]): TensorSpec => ({ dtype, shape });
    return [
      call("embedding", [weight("q6_K", 128256, 2048), i32(T)], {}, bucket),
      call("embedding", [weight("bf16", 128256, 2048), i32(T)], {}, bucket),
      call("rmsNorm", [f32(T, 2048), f32(2048)], { eps: 1e-5 }, bucket),
      call("rope", [f32(T, 32, 64), i32(T), f32(32)], { ropeType: "norm", base: 500000 }, bucket),
      call("rope", [f32(T, 32, 64), i32(T), undefined], { ropeType: "neox", dims: 32 }, bucket),
      call("kvWrite", [weight("f16", 4096, 8, 128), f32(T, 8, 64), f32(T, 8, 64), i32(T)], {}, bucket),
      ...["f32", "f16"].flatMap((dtype) => [
        call(
          "attention",
          [f32(T, 32, 64), weight(dtype as "f16", 4096, 8, 128), ...index, undefined],
          { scale: 0.125, blockSize: 256 },
          bucket,
        ),
        call(
          "attention",
          [f32(T, 32, 128), weight(dtype as "f16", 4096, 8, 192), ...index, f32(32)],
          { scale: 0.1, blockSize: 32, window: 100, softcap: 30, alibi: 8 },
          bucket,
        ),
      ]),
      ...(["f32", "f16", "q8_0"] as const).flatMap((dtype) =>
        [64, 128, 256].map((size) =>
          call(
            "attention",
            [f32(T, 32, size), weight(dtype, 4096, 8, 2 * size), ...index, undefined],
            { scale: 0.1, blockSize: 32, activations: "half" },
            bucket,
          ),
        ),
      ),
      call(
        "attention",
        [f32(T, 16, 192), weight("f16", 4096, 16, 320), ...index, f32(16)],
        { scale: 0.1, blockSize: 20, activations: "half", window: 100, softcap: 30, alibi: 8 },
        bucket,
      ),
      ...(["f32", "f16", "bf16", "q4_K", "q5_0", "q5_1", "q5_K", "q6_K", "q8_0"] as const).flatMap((dtype) =>
        (["f32", "ggml", "half"] as const).map((activations) =>
          call("matmul", [f32(T, 2048), weight(dtype, 8192, 2048)], { transposeB: true, activations }, bucket),
        ),
      ),
      ...[768, 1408, 2880].map((rows) =>
        call(
          "moeMatmul",
          [f32(T, 2048), weight(rows === 768 ? "q4_K" : "mxfp4", 32, rows, 2048), i32(T, 4)],
          { activations: "half" },
          bucket,
        ),
      ),
      call("matmul", [f32(2048, T), weight("q4_0", 512, 2048)], { transposeA: true, transposeB: true, activations: "ggml" }, bucket),
      call("matmul", [f32(3, 1, T, 64), f32(5, 64, T)], {}, bucket),
      call("add", [f32(T, 2048), f32(2048)], {}, bucket),
      call("mul", [f32(T, 8192), f32(T, 8192)], {}, bucket),
      call("silu", [f32(T, 8192)], {}, bucket),
      call("argmax", [f32(T, 128256)], {}, bucket),
      call("softmax", [f32(T, 1000)], { axis: 0 }, bucket),
      call("sum", [f32(T, 1000)], {}, bucket),
      ...(["sum", "argmax", "softmax", "cumsum"] as const).map((name) => call(name, [f32(3000, T)], { axis: 0 }, bucket)),
    ];
  });
}

/** What attention does with scores: its parameters, and whether it has sinks. */
const scoreForms: readonly (readonly [params: object, hasSinks?: boolean])[] = [
  [{ window: 100 }, true],
  [{ window: 100, softcap: 30 }],
  [{ window: 100, softcap: 30, causal: false }],
  [{ window: 100 }],
  [{ softcap: 30 }],
  [{ alibi: 8 }],
  [{}, true],
];

/** Attention with operands in f16, in each form of scores by each size of heads. */
function attentionCalls(): readonly Call[] {
  const T = { name: "T", max: 512 };
  const N = { name: "nSeq", max: 4 };
  const buckets = [
    { T: 1, nSeq: 1 },
    { T: 8, nSeq: 4 },
    { T: 512, nSeq: 1 },
    { T: 512, nSeq: 4 },
  ];
  return (["f16", "q8_0"] as const).flatMap((dtype) =>
    [128, 64, 256].flatMap((size) =>
      scoreForms.flatMap(([params, hasSinks = false]) =>
        buckets.map((bucket) => {
          const cache = { dtype, shape: [4096, 8, 2 * size] };
          const inputs = [f32(T, 32, size), cache, i32(T), i32(T), i32(N, 16), i32(N), hasSinks ? f32(32) : undefined];
          return call("attention", inputs, { scale: 0.1, blockSize: 32, activations: "half", ...params }, bucket);
        }),
      ),
    ),
  );
}

/** Groups as passes make them of a layer's products, at several numbers of tokens. */
export function groupCalls(): readonly Call[] {
  const program = createProgram();
  const T = program.dim("T", 512);
  const x = program.input("x", "f32", [T, 2048]);
  const times = (name: string, dtype: TensorSpec["dtype"], rows: number, activations: "f32" | "ggml" | "half"): Value =>
    program.matmul(x, program.persistent(`${name} ${activations}`, { dtype, shape: [rows, 2048] }), { transposeB: true, activations });
  for (const activations of ["ggml", "f32", "half"] as const) {
    const bias = program.input(`bias ${activations}`, "f32", [512]);
    program.output(`q ${activations}`, times("q", "q4_K", 2048, activations));
    program.output(`k ${activations}`, program.add(times("k", "q8_0", 512, activations), bias));
    program.output(`v ${activations}`, times("v", "f16", 512, activations));
    const gate = program.silu(times("gate", "q4_K", 8192, activations));
    program.output(`gated ${activations}`, program.mul(gate, times("up", "q6_K", 8192, activations)));
  }
  // An epilogue with several loads, and columns that are no whole tiles.
  const heads = program.input("heads", "f32", [T, 2048]);
  const narrow = program.persistent("narrow", { dtype: "q5_1", shape: [500, 2048] });
  const sum = program.add(program.matmul(heads, narrow, { transposeB: true, activations: "half" }), program.input("bias", "f32", [500]));
  program.output("narrow", program.add(sum, program.input("residual", "f32", [T, 500])));
  const { steps } = lower(program, "cuda", kernelTable.unsupported, { fusion });
  return [1, 8, 9, 512].flatMap((tokens) =>
    steps.map(({ op, inputs, params }, i): Call => {
      const specs = inputs.map((operand) => operand?.spec);
      return { name: `group ${i} at ${tokens}`, op, inputs: specs, params, bucket: { T: tokens } };
    }),
  );
}

/** Norms with the products that alone read them, at several numbers of tokens. */
export function normedCalls(): readonly Call[] {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 512), 2048]);
  const norm = (name: string, from: Value): Value => program.rmsNorm(from, program.input(name, "f32", [2048]), { eps: 1e-5 });
  for (const activations of ["ggml", "half"] as const) {
    const times = (from: Value, name: string, dtype: TensorSpec["dtype"], rows: number): Value =>
      program.matmul(from, program.persistent(`${name} ${activations}`, { dtype, shape: [rows, 2048] }), { transposeB: true, activations });
    const input = norm(`first ${activations}`, x);
    for (const [name, rows] of [["q", 2048] as const, ["k", 512] as const])
      program.output(`${name} ${activations}`, times(input, name, "q4_K", rows));
    const sum = program.add(x, program.input(`y ${activations}`, "f32", [2048]));
    const middle = norm(`second ${activations}`, sum);
    const gated = program.mul(program.silu(times(middle, "gate", "q4_K", 8192)), times(middle, "up", "q4_K", 8192));
    program.output(`gated ${activations}`, gated);
    program.output(`sum ${activations}`, program.softmax(sum));
  }
  const { steps } = lower(program, "cuda", kernelTable.unsupported, { fusion });
  const groups = steps.filter(({ op }) => isFused(op));
  return [1, 4, 8, 512].flatMap((tokens) =>
    groups.map(({ op, inputs, params }, i): Call => {
      const specs = inputs.map((operand) => operand?.spec);
      return { name: `normed ${i} at ${tokens}`, op, inputs: specs, params, bucket: { T: tokens } };
    }),
  );
}

/** Groups of a norm, a softmax or a reduction with elementwise calls before it or behind it, on rows of few and many elements. */
export function surroundedCalls(): readonly Call[] {
  const program = createProgram();
  const T = program.dim("T", 512);
  for (const n of [64, 20_000]) {
    const x = program.input(`x ${n}`, "f32", [T, n]);
    const w = program.input(`w ${n}`, "f32", [n]);
    const column = program.input(`column ${n}`, "f32", [T, 1]);
    const ops: Readonly<Record<string, (from: Value) => Value>> = {
      rmsNorm: (from) => program.rmsNorm(from, w, { eps: 1e-5 }),
      layerNorm: (from) => program.layerNorm(from, w, { eps: 1e-5, bias: w }),
      softmax: (from) => program.softmax(from),
      logSoftmax: (from) => program.logSoftmax(from, { axis: 0 }),
      sum: (from) => program.sum(from, { axis: -1, keepDims: true }),
      mean: (from) => program.mean(from),
      max: (from) => program.max(from, { axis: -1 }),
      min: (from) => program.min(from, { axis: 0 }),
    };
    Object.entries(ops).forEach(([name, of], i) => {
      program.output(`${name} ${n}, finished`, program.silu(program.scale(of(x), { by: 3 })));
      const made = program.mul(program.add(x, column), program.scale(w, { by: i + 2 }));
      program.output(`${name} ${n} of a group`, of(made));
      // Beside the op's result, it is one as well.
      if (name === "rmsNorm" || name === "sum") program.output(`${name} ${n} kept`, made);
    });
  }
  const { steps } = lower(program, "cuda", kernelTable.unsupported, { fusion });
  const groups = steps.filter(({ op, params }) => isFused(op) && (params as FusedParams).body.some((each) => each.op.elementwise !== true));
  return [1, 512].flatMap((tokens) =>
    groups.map(({ op, inputs, params }, i): Call => {
      const specs = inputs.map((operand) => operand?.spec);
      return { name: `surrounded ${i} at ${tokens}`, op, inputs: specs, params, bucket: { T: tokens } };
    }),
  );
}

/** Writes to caches with the ropes of their keys and queries. */
export function cacheWriteCalls(): readonly Call[] {
  const program = createProgram();
  const T = program.dim("T", 512);
  const [positions, slots] = [program.input("positions", "i32", [T]), program.input("slots", "i32", [T])];
  const freqFactors = program.input("factors", "f32", [32]);
  const rotations = [
    { ropeType: "norm", freqFactors },
    { ropeType: "neox", dims: 32 },
  ] as const;
  for (const dtype of ["f32", "f16", "q8_0"] as const) {
    for (const params of rotations) {
      const name = `${dtype} ${params.ropeType}`;
      const input = (tensor: string, heads: number): Value => program.input(`${tensor} ${name}`, "f32", [T, heads, 64]);
      program.output(name, program.rope(input("q", 32), positions, params));
      const cache = program.persistent(`cache ${name}`, { dtype, shape: [4096, 8, 128] });
      program.kvWrite(cache, program.rope(input("k", 8), positions, params), input("v", 8), slots);
    }
  }
  const { steps } = lower(program, "cuda", kernelTable.unsupported, { fusion });
  return steps.map(({ op, inputs, params }, i): Call => {
    const specs = inputs.map((operand) => operand?.spec);
    return { name: `cache write ${i}`, op, inputs: specs, params, bucket: { T: 512 } };
  });
}

export const calls: readonly Call[] = [
  ...conformanceCalls(),
  ...modelCalls(),
  ...groupCalls(),
  ...normedCalls(),
  ...surroundedCalls(),
  ...cacheWriteCalls(),
];

/** The first launch of a text, and what needs it. */
export interface KernelUse {
  readonly name: string;
  readonly launch: KernelSource;
  /** Undefined for kernels that copy results, and that load and save weights. */
  readonly call: Call | undefined;
}

/** Every different kernel text for a device. */
export function kernelTexts(gpu: Gpu): ReadonlyMap<string, KernelUse> {
  const texts = new Map<string, KernelUse>();
  const add = (use: KernelUse): void => {
    if (!texts.has(use.launch.ptx)) texts.set(use.launch.ptx, use);
  };
  for (const call of [...calls, ...attentionCalls()]) for (const launch of launchesOf(call, gpu)) add({ name: call.name, launch, call });
  for (const launch of [...copyKernels(gpu), ...transferKernels()]) add({ name: launch.entry, launch, call: undefined });
  return texts;
}

/** Kernels that copy results of several shapes. */
function copyKernels(gpu: Gpu): readonly KernelSource[] {
  const T = createProgram().dim("T", 512);
  const specs: readonly TensorSpec[] = [f32(100), i32(T), { dtype: "f16", shape: [T, 3] }, { dtype: "bool", shape: [T] }];
  const common = { slots: new Map([["T", 0]]), bucket: { T: 512 }, gpu, unitsOf: () => undefined, isGiven: () => false };
  return specs.map((spec) => tensorCopy({ inputs: [spec], output: spec, ...common }));
}

/** Kernels that pack, scale and unpack weights of each type. */
function transferKernels(): readonly KernelSource[] {
  return Object.keys(ggmlTypes).flatMap((dtype) => {
    const format = unitFormat(dtype as DType);
    if (format === undefined) return [];
    return [
      { ptx: packKernel(format, 4096), entry: packEntry, sharedBytes: 0 },
      { ptx: unpackKernel(format, 4096), entry: unpackEntry, sharedBytes: 0 },
      ...(format.scales.kind === "none" ? [] : [{ ptx: tilePowersKernel(format, 16), entry: tilePowersEntry, sharedBytes: 0 }]),
    ];
  });
}
