import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { webgpu } from "../../src/index.ts";

const load = vi.hoisted(() => vi.fn(() => ({})));
vi.mock("webgpu", load);

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

test("the package is named where it is missing, and where it does not load", async () => {
  const script = fileURLToPath(new URL("../support/brokenPackage.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@centella/source", script]);
  expect(stdout.trim().split("\n")).toEqual([
    "UnsupportedError: webgpu: unsupported: package webgpu is not installed: npm i webgpu",
    "UnsupportedError: webgpu: unsupported: package webgpu does not load here: Error: no such symbol; install it again, or use another backend",
  ]);
});

test("the missing driver is named before the package, which need not be loaded then", async () => {
  const missing = "webgpu: unsupported: no Vulkan loader (libvulkan.so.1 not found); install the GPU's driver";
  await expect(webgpu().open()).rejects.toThrow(missing);
  expect(load).not.toHaveBeenCalled();
});
