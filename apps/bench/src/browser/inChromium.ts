import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launchChromium, launchOnGpu } from "@centella/test-devices";
import { serveBundle } from "@centella/test-devices/browserTests";
import { peerPackage, peersFolder } from "../peers/load.ts";
import { Skip } from "../runner/subject.ts";
import { type BrowserResult, type BrowserRun, isInstalled, measureAll, nameOfAdapter } from "./run.ts";

const page = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "page.ts" : "page.js", import.meta.url));

/** Measures projects with WebGPU backends in one page. @throws {Skip} where the browser does not start */
export async function runInChromium(chromium: string | undefined, run: BrowserRun): Promise<BrowserResult> {
  const browser = await (chromium === undefined ? launchChromium() : launchOnGpu(chromium));
  if (typeof browser === "string") throw new Skip(browser);
  const { scripts, files, urls } = servedPeers();
  try {
    await using served = await serveBundle({ scripts: { main: page, ...scripts }, files });
    const tab = await browser.newPage();
    tab.setDefaultTimeout(0);
    await tab.goto(served.url);
    await tab.waitForFunction("globalThis.measureTask");
    const evaluate = <T>(call: string, ...args: readonly unknown[]): Promise<T> =>
      tab.evaluate(`${call}(${args.map((arg) => JSON.stringify(arg)).join()})`);
    return await measureAll(run, {
      adapter: await evaluate<string>(`(${adapterName})`),
      missing: await evaluate<Record<string, string>>("openProjects", run.projects, urls),
      measure: (task) => evaluate("measureTask", task, run.sampling),
    });
  } finally {
    await browser.close();
  }
}

/** Runs in the page. */
const adapterName = `async () => (${nameOfAdapter})((await navigator.gpu.requestAdapter()).info)`;

/** The WASM file of ONNX Runtime's WebGPU backend. */
const onnxruntimeWasm = "ort-wasm-simd-threaded.asyncify.wasm";

/** Scripts and files of the peers that are installed, and their addresses in the page. */
function servedPeers(): { readonly scripts: Record<string, string>; readonly files: Record<string, Uint8Array>; readonly urls: object } {
  const [scripts, files, urls]: [Record<string, string>, Record<string, Uint8Array>, Record<string, unknown>] = [{}, {}, {}];
  if (isInstalled("@tensorflow/tfjs-backend-webgpu")) {
    scripts.tfjs = join(peersFolder, "tfjs.mjs");
    urls.tfjs = "/tfjs.js";
  }
  if (isInstalled("onnxruntime-web")) {
    scripts.onnxruntime = join(peersFolder, "onnxruntime.mjs");
    files["/onnxruntime.wasm"] = readFileSync(join(peerPackage("onnxruntime-web"), "dist", onnxruntimeWasm));
    urls.onnxruntime = { module: "/onnxruntime.js", wasm: "/onnxruntime.wasm" };
  }
  return { scripts, files, urls };
}
