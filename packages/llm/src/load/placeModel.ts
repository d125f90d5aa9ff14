import type { RecordedModel } from "../model/recordModel.ts";
import type { LoadModelOptions } from "./loadOptions.ts";
import { defaultBatchSize, type ModelPlace } from "./modelPlace.ts";

/**
 * Chooses where a model is computed. The code for GPUs is loaded on demand.
 * @throws {ArgumentError | UnsupportedError}
 */
export async function placeModel(
  { runtime, layersOnGpu = "auto" }: LoadModelOptions,
  recorded: RecordedModel,
  layers: number,
): Promise<ModelPlace> {
  if (layersOnGpu === "auto") {
    const { backend } = runtime.select(recorded.program);
    if (backend.device.kind !== "gpu") return { backend, split: undefined, batchSize: defaultBatchSize };
    return (await import("./placeOnGpu.ts")).fitLayers(runtime, backend, recorded, layers);
  }
  const split = (await import("./placeOnGpu.ts")).splitLayers(runtime, layersOnGpu, layers);
  return { backend: split.cpu, split, batchSize: defaultBatchSize };
}
