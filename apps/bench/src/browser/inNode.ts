import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { provideGpu } from "../peers/dawn.ts";
import { peersFolder } from "../peers/load.ts";
import { Skip } from "../runner/subject.ts";
import { measureTask, openProjects, type PeerUrls } from "./projects.ts";
import { type BrowserResult, type BrowserRun, isInstalled, measureAll, nameOfAdapter } from "./run.ts";

/** Measures projects with WebGPU backends in this process, on one instance of Dawn. @throws {Skip} without an adapter */
export async function runInNode(run: BrowserRun): Promise<BrowserResult> {
  using _entry = await provideGpu();
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) throw new Skip("no WebGPU adapter");
  const { projects, missing } = await openProjects(run.projects, localPeers());
  return await measureAll(run, {
    adapter: nameOfAdapter(adapter.info),
    missing,
    measure: (task) => measureTask(projects, task, run.sampling),
  });
}

/** Addresses of the installed peers' modules in this process. */
function localPeers(): PeerUrls {
  const urlOf = (file: string): string => pathToFileURL(join(peersFolder, file)).href;
  return {
    ...(isInstalled("@tensorflow/tfjs-backend-webgpu") && { tfjs: urlOf("tfjs.mjs") }),
    ...(isInstalled("onnxruntime-web") && { onnxruntime: { module: urlOf("onnxruntime.mjs") } }),
  };
}
