import { createProgram, UnsupportedError } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import type { Capabilities } from "../src/device/capabilities.ts";
import { guaranteed } from "../src/device/capabilities.ts";
import { openDevice, type WebgpuOptions } from "../src/device/device.ts";
import { webgpu } from "../src/index.ts";
import { describeOpened } from "./describeOpened.ts";
import { nullGpu } from "./openBackend.ts";

useSwiftShader();

const disabledFeatures = ["subgroups", "shader-f16", "packed_4x8_integer_dot_product", "timestamp-query"] as const;

async function capabilities(options: WebgpuOptions): Promise<Capabilities> {
  const { device, capabilities: found } = await openDevice(options);
  device.destroy();
  return found;
}

await describeOpened("a device", capabilities({}), (all) => {
  test("has the capabilities of its adapter", () => {
    const { maxBindings, maxLanes, workgroupBytes, ...features } = all;
    expect(maxBindings).toBeGreaterThanOrEqual(guaranteed.maxBindings);
    expect(maxLanes).toBeGreaterThanOrEqual(guaranteed.maxLanes);
    expect(workgroupBytes).toBeGreaterThanOrEqual(guaranteed.workgroupBytes);
    const swiftShader = { subgroups: { min: 4, max: 4 }, f16: false, packedDotProducts: true, timestamps: true, subgroupMatrices: [] };
    if (process.env.VK_DRIVER_FILES?.includes("chromium")) expect(features).toEqual(swiftShader);
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

test("unknown features are refused by name", () => {
  expect(() => webgpu({ disabledFeatures: ["f16" as never] })).toThrow(/^webgpu: expected disabledFeatures to be a list of features, got/);
  expect(() => webgpu({ experimental: ["subgroups" as never] })).toThrow(/^webgpu: expected experimental to be a list of features, got/);
});
