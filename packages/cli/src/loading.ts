import type { Runtime } from "@centella/core";
import { type LoadModelOptions, loadModel, type Model } from "@centella/llm";
import { openRuntime } from "./backends.ts";
import type { Context } from "./command.ts";
import { fileName, modelSource } from "./modelFile.ts";
import { loadOptions, type ModelValues } from "./modelOptions.ts";
import { ProgressBar } from "./progress.ts";

/** A loaded model. */
export interface Loaded {
  readonly model: Model;
  readonly runtime: Runtime;
  /** `general.name`, or the name of the file if the model has no name. */
  readonly name: string;
  readonly loadMs: number;
}

/**
 * Loads FILE, or the embedded model by default, shows progress, calls `use`, and frees everything. The command line overrides the
 * options in `defaults`.
 */
export async function withModel(
  file: string | undefined,
  values: ModelValues,
  { signal, output }: Context,
  use: (loaded: Loaded) => Promise<void>,
  defaults: Partial<LoadModelOptions> = {},
): Promise<void> {
  const given = await loadOptions(values);
  const source = file === undefined ? (await import("@centella/model-fable")).fable : await modelSource(file);
  const name = fileName(source);
  const runtime = await openRuntime(values);
  try {
    const { layersOnGpu, ...others } = given;
    const hasGpu = runtime.backends.some(({ device }) => device.kind === "gpu");
    if (typeof layersOnGpu === "number" && !hasGpu)
      output.warn("warning: --layers-on-gpu is ignored because no GPU can be used; centella gpu says why");
    const start = performance.now();
    output.status(`loading ${name}: preparing kernels`);
    const bars = { download: new ProgressBar(`downloading ${name}`, output), load: new ProgressBar(`loading ${name}`, output) };
    const model = await loadModel(source, {
      runtime,
      signal,
      ...defaults,
      ...others,
      ...(hasGpu && layersOnGpu !== undefined && { layersOnGpu }),
      cache: true,
      onProgress: (done, total, stage) => bars[stage].update(done, total),
    }).finally(() => output.clearStatus());
    const loadMs = performance.now() - start;
    const { info } = model;
    for (const warning of info.warnings) output.note(`warning: ${warning}`);
    await use({ model, runtime, name: info.name === "unnamed" ? name : info.name, loadMs });
  } finally {
    await runtime.dispose();
  }
}
