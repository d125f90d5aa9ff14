import { conformanceSample, NotApplicable, runConformance } from "@centella/conformance";
import { type Backend, createProgram, KernelError, type Program } from "@centella/core";
import { type BlockType, ggmlTypes, isBlockType, isGgmlType } from "@centella/quant";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { type Capabilities, guaranteed } from "../../src/device/capabilities.ts";
import { openDevice } from "../../src/device/device.ts";
import { PipelineCache } from "../../src/device/pipelines.ts";
import { webgpu } from "../../src/index.ts";
import { attentionFor } from "../../src/kernels/attention.ts";
import { hasForms, inForm } from "../../src/tuning/tuning.ts";
import { type AttentionCase, attentionCall } from "../kernels/attentionCase.ts";
import { type AttentionForm, attentionProducts } from "../kernels/attentionProducts.ts";
import { llamaProjections, projections } from "../kernels/projectedCache.ts";
import { overlay } from "../support/guardedGpu.ts";
import { nullGpu } from "../support/openBackend.ts";
import { type LayersForm, layers } from "../tuning/tunedLayers.ts";
import { componentWrites } from "./componentWrites.ts";
import { Dispatches, h200, type NamedDispatch } from "./kernelTexts.ts";

const subgroups = { min: 4, max: 128 };
const page = { subgroups, packedDotProducts: true, f16: true, timestamps: true };

const withMatrices: Capabilities = { ...guaranteed, ...page, subgroups: { min: 32, max: 32 }, subgroupMatrices: h200.subgroupMatrices };

/** Sets of features, with the limits that the specification guarantees: Dawn's null adapter has no more. */
const sets: readonly Capabilities[] = [
  guaranteed,
  { ...guaranteed, packedDotProducts: true },
  { ...guaranteed, subgroups },
  { ...guaranteed, subgroups, packedDotProducts: true },
  { ...guaranteed, ...page },
  withMatrices,
];

/** Smallest subgroups of devices, and sets of features with each of them: nothing else, and what a page has. */
const subgroupSizes = [8, 16, 32, 64];
const sizedSets: readonly Capabilities[] = subgroupSizes.flatMap((min) => [
  { ...guaranteed, subgroups: { min, max: 128 } },
  { ...guaranteed, ...page, subgroups: { min, max: 128 } },
]);

/** Sets with the limits of a large device. Dawn's null adapter creates their shader modules, but no pipelines. */
const largeSets: readonly Capabilities[] = [h200, { ...h200, subgroupMatrices: [] }];

/**
 * The dispatches of conformance tests by text, for each set of features. Nothing is run: calls are collected where the tests ask
 * whether they have a kernel, and programs where they are compiled. Of a sample of the tests, unless the whole grid runs.
 */
async function collect(sets: readonly Capabilities[]): Promise<ReadonlyMap<string, NamedDispatch>> {
  const backend = await webgpu({ gpu: await nullGpu() }).open();
  const byText = new Map<string, NamedDispatch>();
  const tables = sets.map((capabilities) => new Dispatches(capabilities));
  const add = (dispatchesIn: (table: Dispatches) => readonly NamedDispatch[]): void => {
    for (const named of tables.flatMap(dispatchesIn)) byText.set(named.dispatch.code, named);
  };
  const collecting = overlay(backend, {
    unsupported: (...call: Parameters<Backend["unsupported"]>) => {
      add((table) => table.ofCall(...call));
      return "it is only collected";
    },
    compile: async (program: Parameters<Backend["compile"]>[0]) => {
      add((table) => table.ofProgram(program));
      throw new NotApplicable("it is only collected");
    },
  });
  const sample = conformanceSample();
  for await (const _ of runConformance(collecting, { filter: (id) => isWholeGrid || sample.has(id) }));
  await backend.dispose();
  return byText;
}

let collected: ReturnType<typeof collect> | undefined;

/** What {@link collect} finds for `sets`, once for all tests. */
const ofSets = (): ReturnType<typeof collect> => (collected ??= collect(sets));

test("Dawn compiles every kernel with every set of features", async () => {
  const texts = [...(await ofSets()).values()];
  expect(texts.length).toBeGreaterThan(400);
  expect(await failuresOf(await nullGpu(), texts, pipelineOf)).toEqual([]);
});

test("Dawn compiles kernels for subgroups of each size", async () => {
  const known = await ofSets();
  const own = isWholeGrid ? sizedSets : sizedSets.filter((_, i) => i % 5 === 0);
  const texts = [...(await collect(own)).values(), ...formsIn(own)].filter(({ dispatch }) => !known.has(dispatch.code));
  expect(texts.length).toBeGreaterThan(100);
  expect(await failuresOf(await nullGpu(), texts, pipelineOf)).toEqual([]);
});

test("Dawn accepts every kernel with the limits of a large device", async () => {
  const known = await ofSets();
  const texts = [...(await collect(largeSets)).values(), ...formsIn(largeSets)].filter(({ dispatch }) => !known.has(dispatch.code));
  expect(texts.length).toBeGreaterThan(100);
  // Neither the lanes nor the workgroup's memory are those that every device has.
  expect(texts.some(({ dispatch: { code } }) => /@workgroup_size\((512|1024)/.test(code))).toBe(true);
  expect(await failuresOf(await nullGpu(), texts, moduleOf)).toEqual([]);
});

test("Dawn refuses a text of a large device whose barrier is not reached by all lanes", async () => {
  const [sum] = new Dispatches(h200).ofProgram(sumOfRows());
  const { op, dispatch } = sum!;
  const broken = dispatch.code.replace(/workgroupBarrier\(\);/, "if (lane < 7u) { workgroupBarrier(); }");
  expect(broken).not.toBe(dispatch.code);
  const failures = await failuresOf(await nullGpu(), [{ op, dispatch: { ...dispatch, code: broken } }], moduleOf);
  expect(failures).toEqual([expect.stringMatching(/uniform control flow/)]);
});

function sumOfRows(): Program {
  const program = createProgram();
  program.output("y", program.softmax(program.input("x", "f32", [64, 100_000])));
  return program;
}

test("Dawn compiles every form of products with every set of features", async () => {
  const texts = formsIn(sets);
  expect(texts.length).toBeGreaterThan(100);
  expect(await failuresOf(await nullGpu(), texts, pipelineOf)).toEqual([]);
});

test("Dawn accepts matrices of several results, with the limits of every device and with those of a large one", async () => {
  const [every, large] = [withMatrices, h200].map((capabilities) => {
    const table = new Dispatches(capabilities);
    const named = attentionTypes().flatMap((form) => severalResults(form, table));
    return [...new Map(named.map((each) => [each.dispatch.code, each])).values()];
  });
  // A large device has forms for many workgroups, too.
  expect(large!.length).toBeGreaterThan(every!.length);
  const gpu = await nullGpu();
  expect(await failuresOf(gpu, every!, pipelineOf)).toEqual([]);
  expect(await failuresOf(gpu, large!, moduleOf)).toEqual([]);
});

test("Dawn accepts matrices of products with experts, with the limits of every device and with those of a large one", async () => {
  const [every, large] = [withMatrices, h200].map((capabilities) => expertMatrices(new Dispatches(capabilities)));
  expect(large!.length).toBeGreaterThan(every!.length);
  const gpu = await nullGpu();
  expect(await failuresOf(gpu, every!, pipelineOf)).toEqual([]);
  expect(await failuresOf(gpu, large!, moduleOf)).toEqual([]);
});

test("Dawn compiles attention for every size of keys and values, with the limits of every device and with those of a large one", async () => {
  const gpu = await nullGpu();
  const tokens = createProgram().dim("T", 4096);
  const texts = (capabilities: Capabilities): readonly NamedDispatch[] => {
    const named = attentionCases().flatMap((given) => {
      const { call, params } = attentionCall({ ...given, tokens });
      return attentionFor(capabilities)
        .dispatches(call, params)
        .map((dispatch) => ({ op: "attention", dispatch }));
    });
    expect(Math.max(...named.map(({ dispatch: { bindings } }) => bindings.length))).toBe(guaranteed.maxBindings);
    // Bias and sinks in one buffer, shares of few tokens, their sums, each of many tokens alone, and tiles.
    expect(named).toHaveLength(5 * attentionCases().length);
    return [...new Map(named.map((each) => [each.dispatch.code, each])).values()];
  };
  for (const min of isWholeGrid ? [1, 4, ...subgroupSizes] : [1, 32]) {
    const capabilities = min === 1 ? guaranteed : { ...guaranteed, subgroups: { min, max: 128 } };
    expect(await failuresOf(gpu, texts(capabilities), pipelineOf), `subgroups of ${min}`).toEqual([]);
  }
  expect(await failuresOf(gpu, texts(h200), moduleOf)).toEqual([]);
});

/** With everything that is added to scores: sizes that fill steps and vectors, and others. */
const attentionCases = (): readonly Omit<AttentionCase, "tokens">[] => {
  const sizes = [
    [64, 64],
    [72, 72],
    [576, 512],
    ...(isWholeGrid
      ? [
          [32, 32],
          [80, 80],
          [128, 128],
          [192, 128],
          [256, 256],
        ]
      : []),
  ] as const;
  const params = { window: 40, softcap: 3, alibi: 8 };
  return sizes.flatMap(([dK, dV]) =>
    (["f32", "f16", "q8_0"] as const)
      .filter((dtype) => dtype !== "q8_0" || (dK! + dV!) % 32 === 0)
      .map((dtype): Omit<AttentionCase, "tokens"> => ({ dtype, sizes: [dK!, dV!], heads: [8, 2], params, hasSinks: true, reach: 9 })),
  );
};

const blockTypes = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type): type is BlockType => isBlockType(type));

/** Types of the weights of queries, keys and values: alike, of different blocks, and read in different ways. */
const attentionTypes = (): readonly Pick<AttentionForm, "weights" | "activations">[] => [
  { weights: ["q4_K", "q4_K", "q6_K"] },
  { weights: ["f16", "f16", "f16"] },
  { weights: ["f16", "q8_0", "iq4_nl"], activations: "half" },
  ...(isWholeGrid ? blockTypes.map((dtype) => ({ weights: [dtype, dtype, dtype] }) as const) : []),
];

/** The dispatches of matrices for queries, keys with a bias, and values. */
function severalResults(form: Pick<AttentionForm, "weights" | "activations">, table: Dispatches): readonly NamedDispatch[] {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 4096), 1024]);
  const { q, k, v } = attentionProducts(program, x, { ...form, columns: [2048, 300, 1024] });
  program.output("q", q);
  program.output("k", program.add(k, program.input("bias", "f32", [300])));
  program.output("v", v);
  const dispatches = table.ofProgram(program).filter(({ dispatch: { code } }) => code.includes("subgroupMatrixMultiply"));
  // For each form, whatever the number of rows.
  for (const { dispatch } of dispatches) expect(dispatch.bindings.filter(({ access }) => access === "read_write")).toHaveLength(3);
  expect(dispatches.length).toBeGreaterThan(0);
  return dispatches;
}

/** The dispatches of matrices for products with experts. */
function expertMatrices(table: Dispatches): readonly NamedDispatch[] {
  return (["f16", "q4_K", ...(isWholeGrid ? blockTypes : [])] as const).flatMap((dtype) => {
    const program = createProgram();
    const tokens = program.dim("T", 4096);
    const weight = program.persistent("w", { dtype, shape: [16, 300, 512] });
    const ids = program.input("ids", "i32", [tokens, 2]);
    program.output("y", program.moeMatmul(program.input("x", "f32", [tokens, 512]), weight, ids, { activations: "ggml" }));
    const dispatches = table.ofProgram(program).filter(({ dispatch: { code } }) => code.includes("subgroupMatrixMultiply"));
    expect(dispatches.length).toBeGreaterThan(0);
    return dispatches;
  });
}

/** The forms of products, each text once. */
function formsIn(sets: readonly Capabilities[]): readonly NamedDispatch[] {
  const programs = formedTypes().map((form) => layers({ ...form, most: 40, depth: 256 }));
  const tables = sets.map((capabilities) => new Dispatches(capabilities));
  const named = tables.flatMap((table) =>
    [...programs, projections(llamaProjections, false)].flatMap((program) => table.ofProgram(program)),
  );
  const formed = named.flatMap(({ op, dispatch }) =>
    hasForms(dispatch) ? dispatch.forms().others.map((name) => ({ op, dispatch: inForm(dispatch, name) })) : [],
  );
  return [...new Map(formed.map((each) => [each.dispatch.code, each])).values()];
}

const formedTypes = (): readonly Pick<LayersForm, "dtype" | "activations">[] => [
  { dtype: "q4_K", activations: "ggml" },
  { dtype: "f16", activations: "half" },
  ...(isWholeGrid
    ? ([
        { dtype: "q6_K", activations: "ggml" },
        { dtype: "f32", activations: "f32" },
      ] as const)
    : []),
];

/** Resolves to Dawn's message if it refuses a dispatch. */
type Check = (device: GPUDevice, pipelines: PipelineCache, dispatch: NamedDispatch) => Promise<string | undefined>;

const pipelineOf: Check = async (_device, pipelines, { op, dispatch }) => {
  try {
    await pipelines.get(op, dispatch);
    return undefined;
  } catch (error) {
    if (error instanceof KernelError) return error.message;
    throw error;
  }
};

/** Checks the text alone. */
const moduleOf: Check = async (device, _pipelines, { dispatch: { code } }) => {
  device.pushErrorScope("validation");
  device.createShaderModule({ code });
  return (await device.popErrorScope())?.message;
};

/** What Dawn's null adapter says of the texts that it refuses, and writes in texts that it accepts although devices may lose them. */
async function failuresOf(gpu: GPU, texts: readonly NamedDispatch[], check: Check): Promise<readonly string[]> {
  const { device } = await openDevice({ gpu, experimental: ["subgroup-matrix"] });
  const pipelines = new PipelineCache(device);
  const failures = await Promise.all(
    texts.map(async (named) => {
      const { op, dispatch } = named;
      const messages = [
        await check(device, pipelines, named),
        ...componentWrites(dispatch.code).map((text) => `lanes write components of one vector: ${text}`),
      ];
      return messages.flatMap((message) => (message === undefined ? [] : [`${op}: ${message}\n${dispatch.code}`]));
    }),
  );
  device.destroy();
  return failures.flat();
}
