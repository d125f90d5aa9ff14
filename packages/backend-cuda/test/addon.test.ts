import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cuda } from "../src/index.ts";

const run = promisify(execFile);
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const addon = here("../build/Release/centella_cuda.node");

const compiler = await run("c++", ["--version"]).then(
  () => "c++",
  () => undefined,
);
if (compiler !== undefined) await run("node", [here("../scripts/buildAddon.mjs")]);

test("an invalid device number is refused", () => {
  expect(() => cuda({ device: -1 })).toThrow("cuda: expected device to be a whole number from 0, got -1");
  expect(() => cuda({ devise: 1 } as never)).toThrow("cuda: expected options among {device}, got devise; check the spelling");
});

if (!existsSync(addon) || compiler === undefined || process.platform !== "linux") {
  test.skip("the addon over a stand-in for the driver (needs Linux and a C++ compiler)", () => undefined);
} else {
  describe("the addon over a stand-in for the driver", () => {
    let folder = "";
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "fake-cuda-"));
      await run(compiler, ["-std=c++17", "-shared", "-fPIC", "-O1", here("native/fakeCuda.cc"), "-o", join(folder, "libcuda.so.1")]);
    });
    afterAll(() => rm(folder, { recursive: true }));

    const scenario = async (name: string, environment: Readonly<Record<string, string>> = {}): Promise<Record<string, unknown>> => {
      const env = { ...process.env, NODE_OPTIONS: "", LD_LIBRARY_PATH: folder, ...environment };
      const args = ["--conditions=@centella/source", "--no-warnings", here("native/throughAddon.ts"), name];
      return JSON.parse((await run("node", args, { env })).stdout) as Record<string, unknown>;
    };

    test("runs programs", async () => {
      const seen = await scenario("whole");
      expect(seen).toEqual({
        device: { kind: "gpu", name: "Fake GPU" },
        // The stand-in's kernel copies the first element, whatever the index.
        runs: [0, 1, 2, 3, 4].map((i) => ({ first: [i], same: [i, 10, 20, 30], w: [1, 2, 3], kept: [i], state: [0, 0] })),
        // One readback per run, and one for each device output that was read.
        counted: [5, 5, 10],
        fromDevice: [7, 8, 9, 10],
        saved: [1, 2, 3],
        memory: { persistents: 0, arenas: 0, tensors: 0, other: 0 },
      });
    });

    test("times steps", async () => {
      const step = (name: string): object => ({ name, op: "element", microseconds: 1000, launches: 1 });
      expect(await scenario("profile")).toEqual({ steps: [step("%1"), step("%2")], total: 2000 });
    });

    test("runs programs within the call", async () => {
      const ran = (value: number): object => ({ first: [value], same: [value, -1], kept: [value] });
      expect(await scenario("withinTheCall")).toEqual({
        runs: [ran(1), ran(2), ran(5)],
        refused: "ProgramError: runSync: expected no work under way on this backend, got some that is queued; await backend.idle() first",
        peeked: [3],
        memory: { persistents: 0, arenas: 0, tensors: 0, other: 0 },
      });
    });

    test("turns failures into errors with CUDA's names", async () => {
      expect(await scenario("driverErrors", { FAKE_CUDA_FAILURE: "700" })).toEqual({
        device: { name: "Fake GPU", computeCapability: [9, 0], multiprocessors: 132, totalBytes: 2 ** 40, driverVersion: 12040 },
        memory: "DriverError: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)",
        module: "DriverError: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218)\nline 1: syntax error",
        entry: "DriverError: cuModuleGetFunction: CUDA_ERROR_OTHER (500)",
        "module within the call": "DriverError: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218)\nline 1: syntax error",
        "kernel within the call": "no error",
        "module of a wrong type": "TypeError: Driver: expected a module's text",
        "finished within the call": "DriverError: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)",
        finished: "DriverError: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)",
        "wrong type": "TypeError: Driver: expected an address or a handle (BigInt)",
        closed: "Error: Driver: used after close()",
        "waited for after close": "Error: Driver: used after close()",
        "closed twice": "no error",
      });
    });

    test("a lost device answers every later call the same", async () => {
      const { messages } = await scenario("lost", { FAKE_CUDA_FAILURE: "700" });
      const message =
        "DeviceLostError: Fake GPU: the device was lost: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700); create the backend again and reload the model";
      expect(messages).toEqual([message, message]);
    });

    test("says why there is no device", async () => {
      expect((await scenario("open", { FAKE_CUDA_NO_DEVICE: "1" })).error).toBe(
        "UnsupportedError: cuda: unsupported: the NVIDIA driver finds no device",
      );
      expect((await scenario("open", { FAKE_CUDA_MAJOR: "7" })).error).toBe(
        "UnsupportedError: cuda: unsupported: Fake GPU has compute capability 7.0, 8.0 is needed",
      );
    });
  });

  test("loads in worker threads, any number of times", async () => {
    const code = `const { Driver } = require(${JSON.stringify(addon)}); try { new Driver(0).close(); } catch (error) { if (!error.unavailable) throw error; }`;
    for (let i = 0; i < 3; i++) {
      const exit = await new Promise((resolve, reject) => {
        new Worker(code, { eval: true }).on("exit", resolve).on("error", reject);
      });
      expect(exit).toBe(0);
    }
  });
}
