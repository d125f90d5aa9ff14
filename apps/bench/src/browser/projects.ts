import { openCentella } from "./centella.ts";
import { openOnnxruntime } from "./onnxruntime.ts";
import type { PageProject } from "./pageProject.ts";
import { type BrowserTask, errorOf, operandsOf } from "./tasks.ts";
import { openTfjs } from "./tfjs.ts";

/** A project's seconds per call of a task, or why there are none. */
export interface PageResult {
  readonly seconds?: readonly number[];
  /** Largest difference from f64, as a share of the largest number. */
  readonly error?: number;
  readonly failed?: string;
}

/** How a task is measured. */
export interface PageSampling {
  /** Samples of each project, which take turns. */
  readonly samples: number;
  /** About how long a sample lasts. */
  readonly seconds: number;
}

/** Addresses of peers' modules. Absent ones are not installed. */
export interface PeerUrls {
  readonly tfjs?: string;
  readonly onnxruntime?: { readonly module: string; readonly wasm?: string };
}

const openers: readonly { readonly name: string; open(urls: PeerUrls): Promise<PageProject> | undefined }[] = [
  { name: "Centella", open: () => openCentella() },
  { name: "tfjs-backend-webgpu", open: ({ tfjs }) => (tfjs === undefined ? undefined : import(tfjs).then(openTfjs)) },
  {
    name: "onnxruntime-web",
    open: ({ onnxruntime: ort }) =>
      ort === undefined ? undefined : import(ort.module).then((module) => openOnnxruntime(module, ort.wasm)),
  },
];

/** Projects that opened, and the reason of each that did not. */
export interface OpenedProjects {
  readonly projects: readonly PageProject[];
  readonly missing: Readonly<Record<string, string>>;
}

/** Opens projects by their names. */
export async function openProjects(names: readonly string[], urls: PeerUrls): Promise<OpenedProjects> {
  const missing: Record<string, string> = {};
  const opened: PageProject[] = [];
  for (const { name, open: opener } of openers.filter((each) => names.includes(each.name))) {
    try {
      const project = await opener(urls);
      if (project === undefined) missing[name] = "not installed; run pnpm bench peers install";
      else opened.push(project);
    } catch (error) {
      missing[name] = String(error);
    }
  }
  return { projects: opened, missing };
}

/** Measures a task on every project, by turns. */
export async function measureTask(
  projects: readonly PageProject[],
  task: BrowserTask,
  { samples, seconds }: PageSampling,
): Promise<Readonly<Record<string, PageResult>>> {
  const operands = operandsOf(task);
  const results: Record<string, { seconds: number[]; error?: number; failed?: string }> = {};
  const sampled: { readonly name: string; sample(): Promise<number>; dispose(): unknown }[] = [];
  for (const project of projects) {
    try {
      const prepared = await project.prepare(task, operands);
      const time = async (calls: number): Promise<number> => {
        const start = performance.now();
        for (let i = 0; i < calls; i++) {
          const pending = prepared.run();
          if (pending instanceof Promise) await pending;
        }
        await prepared.settle();
        return (performance.now() - start) / 1e3 / calls;
      };
      await time(1);
      const error = errorOf(task, operands, await prepared.result());
      const calls = Math.max(1, Math.min(200, Math.round(seconds / (await time(2)))));
      results[project.name] = { seconds: [], error };
      sampled.push({ name: project.name, sample: () => time(calls), dispose: () => prepared.dispose() });
    } catch (error) {
      results[project.name] = { seconds: [], failed: String(error) };
    }
  }
  for (let i = 0; i < samples; i++) for (const { name, sample } of sampled) results[name]!.seconds.push(await sample());
  for (const { dispose } of sampled) await dispose();
  return results;
}
