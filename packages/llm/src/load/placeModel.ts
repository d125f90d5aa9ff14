import type { RecordedModel } from "../model/recordModel.ts";
import type { LoadModelOptions } from "./loadOptions.ts";
import { defaultBatchSize, type ModelPlace } from "./modelPlace.ts";

/**
 * Chooses where a model is computed, such that `reservedBytes` of a GPU's memory stay free. The code for GPUs is loaded on demand.
 * @throws {ArgumentError | UnsupportedError}
 */
export async function placeModel(
  { runtime, layersOnGpu = "auto" }: LoadModelOptions,
  recorded: RecordedModel,
  layers: number,
  reservedBytes: number,
): Promise<ModelPlace> {
  if (layersOnGpu === "auto") {
    const { backend } = runtime.select(recorded.program);
    if (backend.device.kind !== "gpu") return { backend, split: undefined, batchSize: defaultBatchSize };
    return (await import("./placeOnGpu.ts")).fitLayers(runtime, backend, recorded, layers, reservedBytes);
  }
  const split = (await import("./placeOnGpu.ts")).splitLayers(runtime, layersOnGpu, layers);
  return { backend: split.cpu, split, batchSize: defaultBatchSize };
}
