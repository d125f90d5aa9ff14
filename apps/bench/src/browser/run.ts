import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launchChromium, launchOnGpu } from "@centella/test-devices";
import { serveBundle } from "@centella/test-devices/browserTests";
import { peerPackage, peersFolder } from "../peers/load.ts";
import { Skip } from "../runner/subject.ts";
import type { PageResult, PageSampling } from "./page.ts";
import { type BrowserTask, nameOf } from "./tasks.ts";

/** Projects that can take part, ours first. */
export const projectNames = ["Centella", "tfjs-backend-webgpu", "onnxruntime-web"] as const;

export type ProjectName = (typeof projectNames)[number];

/** What to measure in a browser. */
export interface BrowserRun {
  /** Executable of a Chromium that has a GPU. Default: one on SwiftShader. */
  readonly chromium: string | undefined;
  readonly tasks: readonly BrowserTask[];
  readonly projects: readonly ProjectName[];
  readonly sampling: PageSampling;
  readonly log: (line: string) => void;
}

/** Results by task, in the order of the projects. */
export interface BrowserResult {
  readonly adapter: string;
  /** Projects that do not take part, each with the reason. */
  readonly missing: Readonly<Record<string, string>>;
  readonly tasks: readonly { readonly name: string; readonly results: Readonly<Record<string, PageResult>> }[];
}

const page = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "page.ts" : "page.js", import.meta.url));

/** Largest error of a right result: f32 sums of 4,096 products. */
export const maxError = 1e-3;

/** Measures projects with WebGPU backends in one page. @throws {Skip} where the browser does not start */
export async function runInBrowser({ chromium, tasks, projects, sampling, log }: BrowserRun): Promise<BrowserResult> {
  const browser = await (chromium === undefined ? launchChromium() : launchOnGpu(chromium));
  if (typeof browser === "string") throw new Skip(browser);
  const { scripts, files, urls } = peers();
  try {
    await using served = await serveBundle({ scripts: { main: page, ...scripts }, files });
    const tab = await browser.newPage();
    tab.setDefaultTimeout(0);
    await tab.goto(served.url);
    await tab.waitForFunction("globalThis.measureTask");
    const evaluate = <T>(call: string, ...args: readonly unknown[]): Promise<T> =>
      tab.evaluate(`${call}(${args.map((arg) => JSON.stringify(arg)).join()})`);
    const adapter = await evaluate<string>(`(${adapterName})`);
    const missing = await evaluate<Record<string, string>>("openProjects", projects, urls);
    log(adapter);
    for (const [name, reason] of Object.entries(missing)) log(`${name}: skipped: ${reason}`);
    const measured: { readonly name: string; readonly results: Readonly<Record<string, PageResult>> }[] = [];
    for (const task of tasks) {
      measured.push({ name: nameOf(task), results: await evaluate("measureTask", task, sampling) });
      log(nameOf(task));
    }
    return { adapter, missing, tasks: measured };
  } finally {
    await browser.close();
  }
}

/** Runs in the page. */
const adapterName = `async () => {
  const { vendor, architecture, device, description } = (await navigator.gpu.requestAdapter()).info;
  return [vendor, architecture, device, description].filter((part) => part !== "").join(" ");
}`;

/** Scripts and files of the peers that are installed, and their addresses in the page. */
function peers(): { readonly scripts: Record<string, string>; readonly files: Record<string, Uint8Array>; readonly urls: object } {
  const [scripts, files, urls]: [Record<string, string>, Record<string, Uint8Array>, Record<string, unknown>] = [{}, {}, {}];
  if (isInstalled("@tensorflow/tfjs-backend-webgpu")) {
    scripts.tfjs = join(peersFolder, "tfjs.mjs");
    urls.tfjs = "/tfjs.js";
  }
  if (isInstalled("onnxruntime-web")) {
    const wasm = "ort-wasm-simd-threaded.asyncify.wasm";
    scripts.onnxruntime = join(peersFolder, "onnxruntime.mjs");
    files["/onnxruntime.wasm"] = readFileSync(join(peerPackage("onnxruntime-web"), "dist", wasm));
    urls.onnxruntime = { module: "/onnxruntime.js", wasm: "/onnxruntime.wasm" };
  }
  return { scripts, files, urls };
}

function isInstalled(name: string): boolean {
  try {
    peerPackage(name);
    return true;
  } catch (error) {
    if (error instanceof Skip) return false;
    throw error;
  }
}
