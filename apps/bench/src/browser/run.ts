import { peerPackage } from "../peers/load.ts";
import { Skip } from "../runner/subject.ts";
import type { PageResult, PageSampling } from "./projects.ts";
import { type BrowserTask, nameOf } from "./tasks.ts";

/** Projects that can take part, ours first. */
export const projectNames = ["Centella", "tfjs-backend-webgpu", "onnxruntime-web"] as const;

export type ProjectName = (typeof projectNames)[number];

/** What to measure. */
export interface BrowserRun {
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

/** Largest error of a right result: f32 sums of 4,096 products. */
const maxError = 1e-3;

/** Whether a result is wrong; NaN is, too. */
export function isWrong({ error = 0 }: PageResult): boolean {
  return !(error <= maxError);
}

/** Where tasks are measured. */
export interface Place extends Pick<BrowserResult, "adapter" | "missing"> {
  measure(task: BrowserTask): Promise<Readonly<Record<string, PageResult>>>;
}

/** Measures all tasks of a run. */
export async function measureAll({ tasks, log }: BrowserRun, { adapter, missing, measure }: Place): Promise<BrowserResult> {
  log(adapter);
  for (const [name, reason] of Object.entries(missing)) log(`${name}: skipped: ${reason}`);
  const measured: { readonly name: string; readonly results: Readonly<Record<string, PageResult>> }[] = [];
  for (const task of tasks) {
    measured.push({ name: nameOf(task), results: await measure(task) });
    log(nameOf(task));
  }
  return { adapter, missing, tasks: measured };
}

/** What an adapter says of itself. */
export function nameOfAdapter({ vendor, architecture, device, description }: GPUAdapterInfo): string {
  return [vendor, architecture, device, description].filter((part) => part !== "").join(" ");
}

/** Whether `pnpm bench peers install` has installed a package. */
export function isInstalled(name: string): boolean {
  try {
    peerPackage(name);
    return true;
  } catch (error) {
    if (error instanceof Skip) return false;
    throw error;
  }
}
