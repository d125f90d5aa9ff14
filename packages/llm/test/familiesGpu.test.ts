import { cuda } from "@centella/backend-cuda";
import { webgpu } from "@centella/backend-webgpu";
import { type BackendFactory, createRuntime } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../../backend-cuda/src/backend.ts";
import { InterpretedDriver } from "../../backend-cuda/test/interpreter/interpretedDriver.ts";
import { loadModel } from "../src/index.ts";
import { familyGoldens, familyModel, floats, readFamilyGolden } from "./familyFixture.ts";
import { relativeError } from "./modelFiles.ts";

/** Of f32 weights and cache, with the elementary functions of a GPU. */
const gpuError = 1e-3;

/** `ALL_FAMILIES=1`: minutes on SwiftShader, for machines with a GPU. */
const isComplete = process.env.ALL_FAMILIES !== undefined;
const decoding = familyGoldens.filter((name) => readFamilyGolden(name).logits !== undefined);
/** Experts of several routings, a latent cache, recurrent states with and without a cache. */
const sample = isComplete ? decoding : ["deepseek2", "gpt-oss", "jamba", "lfm2", "mamba2", "qwen2moe"];

const software: BackendFactory = {
  name: "webgpu",
  open() {
    useSwiftShader();
    return webgpu().open();
  },
};
const interpreted: BackendFactory = { name: "cuda", open: async () => new CudaBackend(new InterpretedDriver()) };

test.skipIf(!(await opens(software))).each(sample)(
  "%s on WebGPU computes what llama.cpp does (skipped without a device)",
  (name) => expectGolden(software, name),
  120_000,
);

test.skipIf(!(await opens(cuda()))).each(decoding)(
  "%s on CUDA computes what llama.cpp does (skipped without a device)",
  (name) => expectGolden(cuda(), name),
  120_000,
);

test.each(isComplete ? decoding : ["mamba", "llama-moe"])(
  "%s as interpreted PTX computes what llama.cpp does",
  (name) => expectGolden(interpreted, name),
  120_000,
);

async function opens(factory: BackendFactory): Promise<boolean> {
  try {
    const backend = await factory.open();
    await backend.dispose();
    return true;
  } catch {
    return false;
  }
}

async function expectGolden(factory: BackendFactory, name: string): Promise<void> {
  const golden = readFamilyGolden(name);
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32", batchSize: Math.ceil(golden.ids.length / 2) });
  expect(relativeError(await model.logits(golden.ids), floats(golden.logits!))).toBeLessThan(gpuError);
}
