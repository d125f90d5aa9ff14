import { expect, test } from "vitest";
import { describeAdapter } from "../src/device/device.ts";

const nameOf = (info: Partial<GPUAdapterInfo>): string =>
  describeAdapter({ vendor: "", architecture: "", device: "", description: "", ...info } as GPUAdapterInfo).name;

test("an adapter is named as its maker names the device", () => {
  const dawn = { vendor: "nvidia", architecture: "hopper", device: "nvidia-h200", description: "NVIDIA: 580.159.04" };
  expect(nameOf(dawn)).toBe("nvidia-h200");
  expect(nameOf({ vendor: "nvidia", architecture: "ampere", device: "0x2684", description: "NVIDIA GeForce RTX 4090" })).toBe(
    "NVIDIA GeForce RTX 4090",
  );
  expect(nameOf({ vendor: "apple", architecture: "metal-3" })).toBe("apple metal-3");
  expect(nameOf({})).toBe("unnamed GPU");
});
