import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { webgpu } from "../src/index.ts";

const installed = vi.hoisted(() => ({ create: undefined as (() => unknown) | undefined }));
vi.mock("webgpu", () => {
  if (installed.create !== undefined) return { create: installed.create };
  throw new Error("Cannot find package 'webgpu'");
});

const platform = Object.getOwnPropertyDescriptor(process, "platform")!;

// Linux without a Vulkan loader, whatever this machine is.
beforeEach(() => {
  Object.defineProperty(process, "platform", { ...platform, value: "linux" });
  vi.spyOn(process, "dlopen").mockImplementation(() => {
    throw new Error("libvulkan.so.1: cannot open shared object file: No such file or directory");
  });
});

afterEach(() => {
  Object.defineProperty(process, "platform", platform);
  vi.restoreAllMocks();
  vi.resetModules();
});

test("the missing package is named where there is a driver", async () => {
  vi.spyOn(process, "dlopen").mockImplementation(() => {
    throw new Error("Module did not self-register: 'libvulkan.so.1'.");
  });
  await expect(webgpu().open()).rejects.toThrow(/^webgpu: unsupported: package webgpu /);
});

test("the missing driver is named before the package, which need not be loaded then", async () => {
  const missing = "webgpu: unsupported: no Vulkan loader (libvulkan.so.1 not found); install the GPU's driver";
  await expect(webgpu().open()).rejects.toThrow(missing);
  installed.create = vi.fn();
  await expect(webgpu().open()).rejects.toThrow(missing);
  expect(installed.create).not.toHaveBeenCalled();
});
