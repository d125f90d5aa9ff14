import { ArgumentError, type Backend, type Placement, type Runtime, UnsupportedError } from "@centella/core";
import { explain } from "@centella/core/backend";
import { checkOptions, checkValue, string, whole } from "@centella/quant/checks";
import type { RecordedModel } from "../model/recordModel.ts";
import type { ModelPart } from "./weights.ts";

/** How many of the last layers to keep on a GPU: on the first GPU that is open, or on a backend by name. */
export type LayerCount = number | { readonly count: number; readonly backend: string };

/** "auto": on the GPU that the runtime selects, as many of the last layers as fit into its memory. */
export type LayersOnGpu = LayerCount | "auto";

/** A model's layers on two backends. */
export interface LayerSplit {
  readonly cpu: Backend;
  readonly gpu: Backend;
  readonly reason: string;
  /** Devices of a program's persistents. */
  place(recorded: RecordedModel): Placement;
  /** The reason if one of the two backends has no kernels for its part of a program. */
  unsupported(recorded: RecordedModel): string | undefined;
}

/**
 * Splits a model as llama.cpp does. Weights and cache of the last `count` layers go to the GPU, and the output matrix too if `count` exceeds
 * the number of layers. The token embeddings stay on the CPU, unless they are also the output matrix.
 * @throws {ArgumentError | UnsupportedError}
 */
export function splitLayers(runtime: Runtime, wanted: LayerCount, layers: number): LayerSplit {
  const kinds = { count: whole(0), backend: string };
  const { count, backend } =
    typeof wanted === "number" ? { count: wanted, backend: undefined } : checkOptions("layersOnGpu", wanted, kinds);
  checkValue("layersOnGpu", count, whole(0));
  const gpu = gpuOf(runtime, backend);
  const cpu = runtime.backends.find(({ device, name }) => device.kind === "cpu" && name !== gpu.name);
  if (cpu === undefined)
    throw new UnsupportedError("layersOnGpu", `no backend but ${gpu.name} is open, which is forced or the only one given`);
  return splitAt(cpu, gpu, count, layers, "as layersOnGpu asks");
}

/** Keeps the last `count` of a model's layers on the GPU, and the output matrix too if `count` exceeds the number of layers. */
export function splitAt(cpu: Backend, gpu: Backend, count: number, layers: number, why: string): LayerSplit {
  const onGpu = Math.min(count, layers + 1);
  const first = layers - Math.min(onGpu, layers);
  const tail = onGpu > layers ? gpu : cpu;
  const split: LayerSplit = {
    cpu,
    gpu,
    reason: `${layers - first} of ${layers} layers${onGpu > layers ? " and the output" : ""} on ${gpu.name}, ${why}`,
    place({ parts }) {
      // All layers share the frequencies of rope, which are small.
      const devices = { input: cpu.name, output: tail.name, shared: [cpu.name, gpu.name] };
      const deviceOf = (part: ModelPart): string | readonly string[] =>
        typeof part === "number" ? (part >= first ? gpu.name : cpu.name) : devices[part];
      return Object.fromEntries([...parts].map(([name, part]) => [name, deviceOf(part)]));
    },
    unsupported(recorded) {
      try {
        explain(recorded.program, { placement: split.place(recorded), backends: [cpu, gpu] });
        return undefined;
      } catch (error) {
        if (error instanceof UnsupportedError) return error.message;
        throw error;
      }
    },
  };
  return split;
}

function gpuOf({ backends, candidates }: Runtime, name: string | undefined): Backend {
  const found = backends.find((backend) => (name === undefined ? backend.device.kind === "gpu" : backend.name === name));
  if (found !== undefined) return found;
  if (name !== undefined) {
    throw new ArgumentError(
      "layersOnGpu",
      `a backend among ${backends.map((backend) => backend.name).join(", ")}`,
      name,
      "check that it is open",
    );
  }
  const reasons = candidates.map(
    ({ name: candidate, backend, unavailable }) => `${candidate}: ${unavailable ?? `a ${backend?.device.kind}`}`,
  );
  throw new UnsupportedError("layersOnGpu", `no GPU is open (${reasons.join("; ")}); name a backend to use it anyway`);
}
