import { expect, test } from "vitest";
import { describeAdapter } from "../../src/device/device.ts";

const nameOf = (info: Partial<GPUAdapterInfo>): string =>
  describeAdapter({ vendor: "", architecture: "", device: "", description: "", ...info } as GPUAdapterInfo).name;

test("an adapter is named as its maker names the device", () => {
  const dawn = { vendor: "nvidia", architecture: "hopper", device: "nvidia-h200", description: "NVIDIA: 580.159.04" };
  expect(nameOf(dawn)).toBe("nvidia-h200");
  expect(nameOf({ vendor: "nvidia", architecture: "ampere", device: "0x2684", description: "NVIDIA GeForce RTX 4090" })).toBe(
    "NVIDIA GeForce RTX 4090",
  );
  const deno = { vendor: "6880", device: "49374", description: "SwiftShader Device (LLVM 10.0.0)" };
  expect(nameOf(deno)).toBe("SwiftShader Device (LLVM 10.0.0)");
  expect(nameOf({ ...deno, architecture: "subzero", description: "" })).toBe("subzero");
  expect(nameOf({ vendor: "apple", architecture: "metal-3" })).toBe("apple metal-3");
  expect(nameOf({})).toBe("unnamed GPU");
});
