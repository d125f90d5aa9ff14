import { createProgram, UnsupportedError } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import type { Capabilities } from "../src/device/capabilities.ts";
import { guaranteed } from "../src/device/capabilities.ts";
import { openDevice, type WebgpuOptions } from "../src/device/device.ts";
import { webgpu } from "../src/index.ts";
import { nullGpu } from "./openBackend.ts";

useSwiftShader();

/** Capabilities of a device that is opened with these options, or the reason why there is none. */
async function capabilities(options: WebgpuOptions): Promise<Capabilities | string> {
  try {
    const { device, capabilities: found } = await openDevice(options);
    device.destroy();
    return found;
  } catch (error) {
    if (error instanceof UnsupportedError) return error.reason;
    throw error;
  }
}

const all = await capabilities({});
const reason = typeof all === "string" ? ` (skipped: ${all})` : "";

test.skipIf(typeof all === "string")(`capabilities are those of the adapter${reason}`, () => {
  const { maxBindings, maxLanes, workgroupBytes, ...features } = all as Capabilities;
  expect(maxBindings).toBeGreaterThanOrEqual(guaranteed.maxBindings);
  expect(maxLanes).toBeGreaterThanOrEqual(guaranteed.maxLanes);
  expect(workgroupBytes).toBeGreaterThanOrEqual(guaranteed.workgroupBytes);
  const swiftShader = { subgroups: { min: 4, max: 4 }, f16: false, packedDotProducts: true, timestamps: true, subgroupMatrices: [] };
  if (process.env.VK_DRIVER_FILES?.includes("chromium")) expect(features).toEqual(swiftShader);
});

test.skipIf(typeof all === "string")(`disabled features are left unused${reason}`, async () => {
  const { maxBindings, maxLanes, workgroupBytes, ...features } = guaranteed;
  const disabledFeatures = ["subgroups", "shader-f16", "packed_4x8_integer_dot_product", "timestamp-query"] as const;
  expect(await capabilities({ disabledFeatures })).toMatchObject(features);
  expect(await capabilities({ disabledFeatures: ["subgroups"] })).toEqual({ ...(all as Capabilities), subgroups: undefined });
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

test("a program runs without any optional feature", async () => {
  const backend = await webgpu({ disabledFeatures: ["subgroups", "shader-f16", "packed_4x8_integer_dot_product", "timestamp-query"] })
    .open()
    .catch((error: unknown) => {
      if (error instanceof UnsupportedError) return undefined;
      throw error;
    });
  if (backend === undefined) return;
  const program = createProgram();
  program.output("y", program.scale(program.input("x", "f32", [2]), { by: 2 }));
  const plan = await backend.compile(program);
  expect([...(await plan.run({ x: Float32Array.of(1, 2) }).y!.data())]).toEqual([2, 4]);
  await expect(plan.profile({ x: Float32Array.of(1, 2) })).rejects.toThrow(UnsupportedError);
  await backend.dispose();
});
