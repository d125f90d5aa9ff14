import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as cuda from "@centella/backend-cuda";
import * as wasm from "@centella/backend-wasm";
import * as webgpu from "@centella/backend-webgpu";
import { expect, test } from "vitest";
import { repositoryFolder } from "../../src/receipts/store.ts";
import { callExports, excused } from "./harness.ts";

test("factories of backends: wrong arguments are typed errors", async () => {
  const cpu = {
    relaxed: "auto",
    threads: 1,
    sync: true,
    maxMemoryMiB: 64,
    memory64: false,
    checkWrites: true,
    kernelCache: false,
  } as const;
  // Nothing is opened, so no other member of a GPU is used.
  const gpu = { requestAdapter: async () => null } as unknown as GPU;
  const page = { gpu, powerPreference: "low-power", allowSoftware: true, unsafeFast: false, tuning: new Map() } as const;
  const nvidia = { device: 0, kernelCache: false } as const;
  // Each option is one of the backend's.
  for (const open of [() => wasm.wasm(cpu), () => webgpu.webgpu(page), () => cuda.cuda(nvidia)]) expect(open).not.toThrow();
  await callExports("wasm", wasm, { wasm: [cpu], detect: [] });
  await callExports("webgpu", webgpu, { webgpu: [page], tuningFile: ["forms.json"] });
  await callExports("cuda", cuda, { cuda: [nvidia], readDevices: excused("takes nothing") });
});

/** What has no calls to try, and why. */
const notForApps = {
  "@centella/backend-cuda/ptx": "for authors of kernels",
  "@centella/backend-wasm/emit": "for authors of kernels",
  "@centella/backend-wasm/measure": "for benchmarks of kernels",
  "@centella/cli/peakMemory": "for benchmarks",
  "@centella/conformance": "for tests of backends",
  "@centella/conformance/headless": "for tests of backends",
  "@centella/core/kernelCache": "for backends",
  "@centella/core/references": "for tests of backends",
  "@centella/gpu-kernels": "for backends",
  "@centella/llm/engine": "for adapters to other libraries, which check their arguments",
  "@centella/model-fable": "data",
  "@centella/quant/checks": "what checks the others",
};

test("every package that exports functions to apps is tried", () => {
  const tried = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"))
    .join("\n");
  const packages = join(repositoryFolder, "packages");
  const exported = readdirSync(packages).flatMap((folder) => {
    const { name, private: isPrivate, exports = {} } = JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8"));
    return isPrivate === true ? [] : Object.keys(exports).map((key) => `${name}${key.slice(1)}`);
  });
  const untried = exported.filter(
    (specifier) => !/\.(json|wasm)$/.test(specifier) && !new RegExp(`import \\* as \\w+ from "${specifier}"`).test(tried),
  );
  expect(Object.keys(notForApps).sort()).toEqual(untried.sort());
});
