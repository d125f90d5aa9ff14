import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { centella, expectOneLine } from "./centella.ts";

const run = promisify(execFile);
const native = (source: string): string => fileURLToPath(new URL(`../../backend-cuda/test/device/native/${source}`, import.meta.url));

const hasCompiler = await run("c++", ["--version"]).then(
  () => true,
  () => false,
);

// Stand-ins for NVIDIA's libraries are compiled, and the loader finds them by LD_LIBRARY_PATH, which other systems do not have.
describe.skipIf(!hasCompiler || process.platform !== "linux")("gpu over stand-in libraries (needs Linux and a C++ compiler)", () => {
  let folder = "";
  const env = (): Record<string, string> => ({ LD_LIBRARY_PATH: folder });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "fake-gpu-"));
    const build = (source: string, library: string) =>
      run("c++", ["-std=c++17", "-shared", "-fPIC", native(source), "-o", join(folder, library)]);
    await Promise.all([build("fakeCuda.cc", "libcuda.so.1"), build("fakeNvml.cc", "libnvidia-ml.so.1")]);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const rows = [
    " gpu         memory used   busy     clock  memory clock  temperature  power  name",
    "   0      20 GB of 80 GB   75 %  1980 MHz      3201 MHz        41 °C   84 W  Fake GPU",
    "   1                   -      -         -             -            -      -  Silent GPU",
  ];

  test("shows what devices report after the backends", async () => {
    const { stdout, code } = await centella(["gpu"], { env: env() });
    expect(stdout).toMatch(/^cuda +gpu: Fake GPU$/m);
    expect(stdout).toMatch(/^wasm +cpu: /m);
    expect(stdout.split("\n").slice(-5)).toEqual(["NVIDIA driver 580.12", ...rows, ""]);
    expect(code).toBe(0);
  });

  test("says why a device cannot be used, and goes on", async () => {
    const { stdout, code } = await centella(["gpu"], { env: { ...env(), FAKE_CUDA_REFUSE: "cuDevicePrimaryCtxRetain 2" } });
    expect(stdout).toMatch(
      /^cuda +not available: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY \(2\): the memory of the GPU is taken by other processes/m,
    );
    expect(stdout).toMatch(/^wasm +cpu: /m);
    expect(stdout.split("\n").slice(-5)).toEqual(["NVIDIA driver 580.12", ...rows, ""]);
    expect(code).toBe(0);
  });

  test("says so where there is no device", async () => {
    const noDevice = { ...env(), FAKE_NVML_NO_DEVICE: "1" };
    const { stdout, code } = await centella(["gpu"], { env: noDevice });
    expect(stdout).toMatch(/\n\nno NVIDIA GPU: the NVIDIA driver finds no device\n$/);
    expect(code).toBe(0);
    expectOneLine(await centella(["gpu", "--watch"], { env: noDevice }), "the NVIDIA driver finds no device");
  });

  test("watches devices until it is interrupted", async () => {
    const { stdout, code } = await centella(["gpu", "--watch"], { env: env(), interruptAfter: /Silent/ });
    // Devices are printed each second, their headings once.
    const [headings, ...devices] = rows;
    const round = `${devices.join("\n")}\n`;
    expect(stdout.startsWith(`${headings}\n${round}`)).toBe(true);
    expect(stdout.replaceAll(round, "")).toBe(`${headings}\n`);
    expect(code).toBe(130);
    const { stdout: json } = await centella(["gpu", "--watch", "--json"], { env: env(), interruptAfter: /\n/ });
    expect(JSON.parse(json.slice(0, json.indexOf("\n")))).toMatchObject({
      driverVersion: "580.12",
      devices: [{ name: "Fake GPU" }, { name: "Silent GPU" }],
    });
  });
});
