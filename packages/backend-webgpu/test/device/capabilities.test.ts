import { createProgram, UnsupportedError } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import type { Capabilities } from "../../src/device/capabilities.ts";
import { guaranteed } from "../../src/device/capabilities.ts";
import { openDevice, type WebgpuOptions } from "../../src/device/device.ts";
import { webgpu } from "../../src/index.ts";
import { matrixUnitOrReason } from "../../src/kernels/matrices/matrixUnit.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { nullGpu, softwareGpu } from "../support/openBackend.ts";

useSwiftShader();
const isSwiftShader = process.env.VK_DRIVER_FILES?.includes("chromium") === true;

const disabledFeatures = ["subgroups", "shader-f16", "packed_4x8_integer_dot_product", "timestamp-query"] as const;

async function capabilities(options: WebgpuOptions): Promise<Capabilities> {
  const { device, capabilities: found } = await openDevice(options);
  device.destroy();
  return found;
}

/** The warnings of a plan where the experimental matrices are asked for. */
async function matrixWarnings(options: WebgpuOptions): Promise<readonly string[]> {
  const backend = await webgpu({ ...options, experimental: ["subgroup-matrix"] }).open();
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [2])));
  const { warnings } = await backend.compile(program);
  await backend.dispose();
  return warnings;
}

await describeOpened("a device", capabilities({}), (all) => {
  test("has the limits that are guaranteed, or higher ones", () => {
    const { maxBindings, maxLanes, workgroupBytes } = all;
    expect(maxBindings).toBeGreaterThanOrEqual(guaranteed.maxBindings);
    expect(maxLanes).toBeGreaterThanOrEqual(guaranteed.maxLanes);
    expect(workgroupBytes).toBeGreaterThanOrEqual(guaranteed.workgroupBytes);
  });

  test.runIf(isSwiftShader)("has the features of SwiftShader", () => {
    const { maxBindings, maxLanes, workgroupBytes, ...features } = all;
    expect(features).toEqual({
      subgroups: { min: 4, max: 4 },
      f16: false,
      packedDotProducts: true,
      timestamps: true,
      subgroupMatrices: [],
    });
  });

  test.runIf(isSwiftShader)("without subgroup matrices, every plan says that they are not used, and what to do", async () => {
    const unused = 'webgpu: "subgroup-matrix" is not used: the device offers no subgroup matrices;';
    expect(await matrixWarnings({})).toEqual([`${unused} use another device, or leave the option out`]);
    const given = await matrixWarnings({ gpu: await softwareGpu() });
    expect(given).toEqual([`${unused} create the gpu with Dawn's feature allow_unsafe_apis, or leave the option out`]);
  });

  test("leaves disabled features unused", async () => {
    const { maxBindings, maxLanes, workgroupBytes, ...features } = guaranteed;
    expect(await capabilities({ disabledFeatures })).toMatchObject(features);
    expect(await capabilities({ disabledFeatures: ["subgroups"] })).toEqual({ ...all, subgroups: undefined });
  });

  test("runs a program without any optional feature", async () => {
    const backend = await webgpu({ disabledFeatures }).open();
    const program = createProgram();
    program.output("y", program.scale(program.input("x", "f32", [2]), { by: 2 }));
    const plan = await backend.compile(program);
    expect([...(await plan.run({ x: Float32Array.of(1, 2) }).y!.data())]).toEqual([2, 4]);
    await expect(plan.profile({ x: Float32Array.of(1, 2) })).rejects.toThrow(UnsupportedError);
    await backend.dispose();
  });
});

test("the limits of the null adapter are those that are guaranteed, and it has every feature", async () => {
  const gpu = await nullGpu();
  const everything = { subgroups: { min: 4, max: 128 }, f16: true, packedDotProducts: true, timestamps: true };
  expect(await capabilities({ gpu })).toEqual({ ...guaranteed, ...everything });
  const { device } = await openDevice({ gpu, experimental: ["subgroup-matrix"] });
  expect(device.features.has("chromium-experimental-subgroup-matrix")).toBe(true);
  device.destroy();
});

test("the reason for which subgroups do not multiply matrices is what the device lacks first", () => {
  const whole = { type: "f16", resultType: "f32", m: 16, n: 16, k: 16 };
  const able: Capabilities = { ...guaranteed, f16: true, subgroups: { min: 32, max: 32 }, subgroupMatrices: [{ ...whole, m: 8 }, whole] };
  expect(matrixUnitOrReason(able)).toMatchObject({ shape: whole, subgroup: 32 });
  const reasons = [
    { subgroupMatrices: [{ ...whole, m: 8 }] },
    { f16: false },
    { subgroups: undefined },
    { subgroups: { min: 8, max: 32 } },
  ];
  expect(reasons.map((lacking) => matrixUnitOrReason({ ...able, ...lacking }))).toEqual([
    "the device has no matrices of 16 × 16 × 16 of f16 with sums of f32",
    'it needs the feature "shader-f16"',
    'it needs the feature "subgroups"',
    "it needs subgroups of one size, and the device has 8 to 32 lanes",
  ]);
});

test("unknown features are refused by name", () => {
  expect(() => webgpu({ disabledFeatures: ["f16" as never] })).toThrow(/^webgpu: expected disabledFeatures to be a list of features, got/);
  expect(() => webgpu({ experimental: ["subgroups" as never] })).toThrow(/^webgpu: expected experimental to be a list of features, got/);
});
