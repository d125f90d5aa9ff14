import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cuda } from "../../src/index.ts";
import { missingAddon } from "../../src/nativeDriver.ts";

const run = promisify(execFile);
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const addon = here("../../build/Release/centella_cuda.node");

const compiler = await run("c++", ["--version"]).then(
  () => "c++",
  () => undefined,
);
if (compiler !== undefined) await run("node", [here("../../scripts/buildAddon.mjs")]);

test("an invalid device number is refused", () => {
  expect(() => cuda({ device: -1 })).toThrow("cuda: expected device to be a whole number from 0, got -1");
  expect(() => cuda({ devise: 1 } as never)).toThrow("cuda: expected options among {device, kernelCache}, got devise; check the spelling");
});

test("on Windows, the reason and the script say that there is no addon, and what to use", async () => {
  expect(missingAddon("win32-x64")).toBe("there is no addon for win32-x64 yet; use another backend, such as webgpu");
  expect(missingAddon("linux-arm64")).toMatch(/build the addon/);
  const script = JSON.stringify(here("../../scripts/buildAddon.mjs"));
  const onWindows = `Object.defineProperty(process, "platform", { value: "win32" }); import(${script});`;
  const { stdout } = await run("node", ["-e", onWindows]);
  expect(stdout).toBe("backend-cuda addon: skipped: there is no addon for Windows yet; use another backend, such as webgpu\n");
});

test("the script that the package ships needs nothing but Node", () => {
  const { files } = JSON.parse(readFileSync(here("../../package.json"), "utf8")) as { readonly files: readonly string[] };
  const scripts = files.filter((path) => path.startsWith("scripts"));
  expect(scripts).toEqual(["scripts/buildAddon.mjs"]);
  const imports = readFileSync(here("../../scripts/buildAddon.mjs"), "utf8").matchAll(/^import .* from "(.*)";$/gm);
  for (const [, id] of imports) expect(id).toMatch(/^node:/);
});

if (!existsSync(addon) || compiler === undefined || process.platform !== "linux") {
  test.skip("the addon over a stand-in for the driver (needs Linux and a C++ compiler)", () => undefined);
} else {
  describe.concurrent("the addon over a stand-in for the driver", () => {
    let folder = "";
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "fake-cuda-"));
      const build = (source: string, library: string) =>
        run(compiler, ["-std=c++17", "-shared", "-fPIC", "-O1", here(`native/${source}`), "-o", join(folder, library)]);
      await Promise.all([build("fakeCuda.cc", "libcuda.so.1"), build("fakeNvml.cc", "libnvidia-ml.so.1")]);
    });
    afterAll(() => rm(folder, { recursive: true }));

    const start = (name: string, environment: Readonly<Record<string, string>>, ...rest: readonly string[]) => {
      const env = { ...process.env, NODE_OPTIONS: "", LD_LIBRARY_PATH: folder, ...environment };
      return run("node", ["--conditions=@centella/source", "--no-warnings", here("native/throughAddon.ts"), name, ...rest], { env });
    };
    const scenario = async (name: string, environment: Readonly<Record<string, string>> = {}): Promise<Record<string, unknown>> =>
      JSON.parse((await start(name, environment)).stdout) as Record<string, unknown>;

    test("runs programs", async () => {
      const seen = await scenario("whole");
      expect(seen).toEqual({
        device: { kind: "gpu", name: "Fake GPU" },
        // The stand-in's kernel copies the first element, whatever the index.
        runs: [0, 1, 2, 3, 4].map((i) => ({
          first: [i],
          same: [i, 10, 20, 30],
          w: [1, 2, 3],
          kept: [i],
          state: [0, 0],
          large: [0, 0, 0, 0],
        })),
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
      const ran = (value: number): object => ({ first: [value], same: [value], kept: [value] });
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
        module: "DriverError: cuLibraryLoadData: CUDA_ERROR_INVALID_PTX (218)\nline 1: syntax error",
        entry: "DriverError: cuLibraryGetKernel: CUDA_ERROR_OTHER (500)",
        "module within the call": "DriverError: cuLibraryLoadData: CUDA_ERROR_INVALID_PTX (218)\nline 1: syntax error",
        "kernel within the call": "no error",
        "module of a wrong type": "TypeError: Driver: expected a module's text or code",
        "machine code": "no error",
        "text without machine code": "DriverError: cuLinkAddData: CUDA_ERROR_INVALID_PTX (218)\nline 1: syntax error",
        "machine code within the call": "no error",
        "text without machine code, within the call": "DriverError: cuLinkAddData: CUDA_ERROR_INVALID_PTX (218)\nline 1: syntax error",
        view: [1, 2, 3],
        freedView: 0,
        "polled for": "no error",
        "finished within the call": "DriverError: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)",
        finished: "DriverError: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)",
        "wrong type": "TypeError: Driver: expected an address or a handle (BigInt)",
        closed: "Error: Driver: used after close()",
        "waited for after close": "Error: Driver: used after close()",
        "closed twice": "no error",
      });
    });

    test("errors name the call of the driver that failed", async () => {
      const seen = Object.entries(await scenario("refusals"));
      expect(seen.length).toBe(9);
      for (const [call, errors] of seen) expect(errors).toEqual([`DriverError: ${call}: CUDA_ERROR_OTHER (3)`]);
    });

    test("compiles and loads on Node's own threads where none can report its end", async () => {
      const { include_dir: api } = createRequire(import.meta.url)("node-addon-api");
      const { include_dir: headers } = createRequire(import.meta.url)("node-api-headers");
      const refusing = join(folder, "refusing.node");
      const flags = [
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-DNAPI_VERSION=8",
        "-DNAPI_DISABLE_CPP_EXCEPTIONS",
        "-isystem",
        api,
        "-isystem",
        headers,
      ];
      const sources = [here("../../native/driver.cc"), here("native/noThreadsafeFunctions.cc")];
      await run(compiler, [...flags, ...sources, "-Wl,--wrap=napi_create_threadsafe_function", "-o", refusing]);
      const work = `const { Driver } = require(${JSON.stringify(refusing)}); const driver = new Driver(0);
        driver.compile("fine").then((code) => driver.loadModule(code, "kernel")).then((module) => console.log(typeof module));`;
      const { stdout } = await run("node", ["-e", work], { env: { ...process.env, NODE_OPTIONS: "", LD_LIBRARY_PATH: folder } });
      expect(stdout).toBe("bigint\n");
    });

    test("copies of the host are whole whatever their size", async () => {
      expect(await scenario("hostCopies")).toEqual({ wrong: [], isMany: true, closed: "Error: Driver: used after close()" });
    });

    test("threads of copies end with a worker that does not close its device", async () => {
      const copies = `const { Driver } = require(${JSON.stringify(addon)}); const driver = new Driver(0); const memory = driver.allocPinned(4000000);
        for (let i = 0; i < 5; i++) driver.writePinned(memory, 0, new Uint8Array(4000000));`;
      const workers = `const { Worker } = require("node:worker_threads"); let left = 3;
        const next = () => left-- > 0 ? new Worker(${JSON.stringify(copies)}, { eval: true }).on("exit", next) : console.log("ended"); next();`;
      const { stdout } = await run("node", ["-e", workers], { env: { ...process.env, NODE_OPTIONS: "", LD_LIBRARY_PATH: folder } });
      expect(stdout).toBe("ended\n");
    });

    const message = (call: string): string =>
      `DeviceLostError: Fake GPU: the device was lost: ${call}: CUDA_ERROR_ILLEGAL_ADDRESS (700) after a run of element; then a run of element; CUDA computes again in a new process`;

    test("a lost device fails what is pending and every later call, and names the last launches", async () => {
      const { messages } = await scenario("lost", { FAKE_CUDA_FAILURE: "700", FAKE_CUDA_SLOW: "1" });
      expect(messages).toEqual([1, 2, 3].map(() => message("cuEventSynchronize")));
    });

    test("after a loss the process goes on, without CUDA", async () => {
      // A query finds this loss.
      expect(await scenario("afterLoss", { FAKE_CUDA_FAILURE: "700" })).toEqual({
        messages: [1, 2, 3].map(() => message("cuEventQuery")),
        values: [-5],
        unavailable: expect.stringMatching(
          /cuDevicePrimaryCtxRetain: CUDA_ERROR_ILLEGAL_ADDRESS \(700\): an earlier kernel of this process failed; CUDA computes again in a new process$/,
        ),
      });
    });

    test.each([
      [
        "cuDevicePrimaryCtxRetain 2",
        "CUDA_ERROR_OUT_OF_MEMORY (2): the memory of the GPU is taken by other processes, which nvidia-smi lists",
      ],
      [
        "cuDevicePrimaryCtxRetain 46",
        "CUDA_ERROR_DEVICE_UNAVAILABLE (46): the GPU is in exclusive mode and another process has it; end that process, or reset the mode with nvidia-smi -c DEFAULT",
      ],
      ["cuDevicePrimaryCtxRetain 802", "CUDA_ERROR_OTHER (802)"],
      ["cuDeviceTotalMem 801", "CUDA_ERROR_OTHER (801)"],
    ])("a runtime goes on without a device that cannot be opened: %s", async (refused, reason) => {
      const call = refused.split(" ")[0];
      expect(await scenario("withoutCuda", { FAKE_CUDA_REFUSE: refused })).toEqual({ values: [-5], unavailable: `${call}: ${reason}` });
    });

    test("loads several chunks at a time from sources that write into memory", async () => {
      const seen = await scenario("load");
      expect(seen).toMatchObject({ isSame: true, mostReading: 5, memory: { persistents: 0, arenas: 0, tensors: 0, other: 0 } });
      expect(seen.progress).toEqual([1, 2, 3, 4, 5].map((chunks) => chunks * 2 ** 22));
    });

    test("no memory, on the device before a load and on the host during one", async () => {
      const before = await scenario("load", { FAKE_CUDA_MEMORY: "20000000" });
      expect(before).toMatchObject({
        error:
          "OutOfMemoryError: Fake GPU: expected 20971520 bytes of free memory, got 20000000; use a smaller model, a shorter context or another backend",
        fields: { requested: 20971520, free: 20000000, device: "Fake GPU" },
        memory: { persistents: 0, arenas: 0, tensors: 0, other: 0 },
      });
      const during = await scenario("load", { FAKE_CUDA_NO_PINNED: "1" });
      expect(during).toMatchObject({ fields: { requested: 2 ** 22, device: "host" }, reading: 0, memory: { other: 0 } });
    });

    test("keeps machine code in the folder that the option names", async () => {
      const codes = join(folder, "kernels");
      expect(JSON.parse((await start("cached", {}, codes)).stdout)).toEqual({ values: [5] });
      expect((await readdir(codes)).length).toBe(1);
    });

    test("reads what devices report, and why there is nothing to read", async () => {
      expect(await scenario("readings")).toEqual({
        driverVersion: "580.12",
        devices: [
          {
            index: 0,
            name: "Fake GPU",
            ...{ usedBytes: 20e9, freeBytes: 60e9, totalBytes: 80e9, utilization: 75, memoryUtilization: 40 },
            ...{ clockMHz: 1980, memoryClockMHz: 3201, temperatureC: 41, powerW: 83.5 },
          },
          { index: 1, name: "Silent GPU" },
        ],
      });
      const errors = [await scenario("readings", { FAKE_NVML_FAILURE: "1" }), await scenario("readings", { FAKE_NVML_NO_DEVICE: "1" })];
      expect(errors.map(({ error }) => error)).toEqual([
        "UnsupportedError: cuda: unsupported: NVML does not start (error 9)",
        "UnsupportedError: cuda: unsupported: the NVIDIA driver finds no device",
      ]);
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
