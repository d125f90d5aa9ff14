import { conformanceSample, NotApplicable, runConformance } from "@centella/conformance";
import type { Backend } from "@centella/core";
import { KernelError } from "@centella/core";
import { isFullGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { type Capabilities, guaranteed } from "../src/device/capabilities.ts";
import { openDevice } from "../src/device/device.ts";
import { PipelineCache } from "../src/device/pipelines.ts";
import { webgpu } from "../src/index.ts";
import { hasForms, inForm } from "../src/tuning/tuning.ts";
import { overlay } from "./guardedGpu.ts";
import { Dispatches, type NamedDispatch } from "./kernelTexts.ts";
import { nullGpu } from "./openBackend.ts";
import { llamaProjections, projections } from "./projectedCache.ts";
import { type LayersForm, layers } from "./tunedLayers.ts";

const subgroups = { min: 4, max: 128 };
const page = { subgroups, packedDotProducts: true, f16: true, timestamps: true };

/** Sets of features, with the limits that the specification guarantees: Dawn's null adapter has no more. */
const sets: readonly Capabilities[] = [
  guaranteed,
  { ...guaranteed, packedDotProducts: true },
  { ...guaranteed, subgroups },
  { ...guaranteed, subgroups, packedDotProducts: true },
  { ...guaranteed, ...page },
  { ...guaranteed, ...page, subgroups: { min: 32, max: 32 }, subgroupMatrices: [{ type: "f16", resultType: "f32", m: 16, n: 16, k: 16 }] },
];

/**
 * The dispatches of conformance tests by text, for each set of features. Nothing is run: calls are collected where the tests ask
 * whether they have a kernel, and programs where they are compiled.
 */
async function collect(backend: Backend): Promise<ReadonlyMap<string, NamedDispatch>> {
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
  for await (const _ of runConformance(collecting, { filter: (id) => isFullGrid || sample.has(id) }));
  return byText;
}

test("Dawn compiles every kernel with every set of features", async () => {
  const gpu = await nullGpu();
  const backend = await webgpu({ gpu }).open();
  const texts = [...(await collect(backend)).values()];
  await backend.dispose();
  expect(texts.length).toBeGreaterThan(400);
  expect(await failuresOf(gpu, texts)).toEqual([]);
});

test("Dawn compiles every form of products with every set of features", async () => {
  const programs = formedTypes.map((form) => layers({ ...form, most: 40, depth: 256 }));
  const tables = sets.map((capabilities) => new Dispatches(capabilities));
  const named = tables.flatMap((table) =>
    [...programs, projections(llamaProjections, false)].flatMap((program) => table.ofProgram(program)),
  );
  const formed = named.flatMap(({ op, dispatch }) =>
    hasForms(dispatch) ? [...dispatch.forms().others.keys()].map((name) => ({ op, dispatch: inForm(dispatch, name) })) : [],
  );
  const texts = [...new Map(formed.map((each) => [each.dispatch.code, each])).values()];
  expect(texts.length).toBeGreaterThan(100);
  expect(await failuresOf(await nullGpu(), texts)).toEqual([]);
});

const formedTypes: readonly Pick<LayersForm, "dtype" | "activations">[] = [
  { dtype: "q4_K", activations: "ggml" },
  { dtype: "f16", activations: "half" },
  ...(isFullGrid
    ? ([
        { dtype: "q6_K", activations: "ggml" },
        { dtype: "f32", activations: "f32" },
      ] as const)
    : []),
];

/** What Dawn's null adapter says of the texts that it refuses. */
async function failuresOf(gpu: GPU, texts: readonly NamedDispatch[]): Promise<readonly string[]> {
  const { device } = await openDevice({ gpu, experimental: ["subgroup-matrix"] });
  const pipelines = new PipelineCache(device);
  const compile = async ({ op, dispatch }: NamedDispatch): Promise<string | undefined> => {
    try {
      await pipelines.get(op, dispatch);
      return undefined;
    } catch (error) {
      if (error instanceof KernelError) return `${op}: ${error.message}\n${dispatch.code}`;
      throw error;
    }
  };
  const failures = (await Promise.all(texts.map(compile))).filter((failure) => failure !== undefined);
  device.destroy();
  return failures;
}
