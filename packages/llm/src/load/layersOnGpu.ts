import { ArgumentError, type Backend, type OpRecorder, type Placement, type Runtime, UnsupportedError } from "@centella/core";
import { explain } from "@centella/core/backend";
import { checkOptions, string, whole } from "@centella/quant/checks";
import { wholeNumber } from "../options.ts";

/** Layers to keep on a GPU: so many of the last ones, on the first GPU that is open or on a backend by name. */
export type LayersOnGpu = number | { readonly count: number; readonly backend: string };

/** A model's layers on two backends. */
export interface LayerSplit {
  readonly cpu: Backend;
  readonly gpu: Backend;
  readonly reason: string;
  /** Where a program's persistents live. */
  place(program: OpRecorder): Placement;
  /** The reason if one of the two has no kernels for its part of a program. */
  unsupported(program: OpRecorder): string | undefined;
}

/**
 * Splits `layers` layers as llama.cpp does: the last `count` of them, weights and cache, go to the GPU; one more than there are takes the
 * output matrix there too. The embedding of the tokens stays on the CPU, if it is not the output matrix as well.
 * @throws {ArgumentError | UnsupportedError}
 */
export function splitLayers(runtime: Runtime, wanted: LayersOnGpu, layers: number): LayerSplit {
  const kinds = { count: whole(0), backend: string };
  const { count, backend } =
    typeof wanted === "number" ? { count: wanted, backend: undefined } : checkOptions("layersOnGpu", wanted, kinds);
  const onGpu = Math.min(wholeNumber("layersOnGpu", count, 0), layers + 1);
  const gpu = gpuOf(runtime, backend);
  const cpu = runtime.backends.find(({ device, name }) => device.kind === "cpu" && name !== gpu.name);
  if (cpu === undefined)
    throw new UnsupportedError("layersOnGpu", `no backend but ${gpu.name} is open, which is forced or the only one given`);
  const first = layers - Math.min(onGpu, layers);
  const tail = onGpu > layers ? gpu : cpu;
  const split: LayerSplit = {
    cpu,
    gpu,
    reason: `${layers - first} of ${layers} layers${onGpu > layers ? " and the output" : ""} on ${gpu.name}, as layersOnGpu asks`,
    place(program) {
      const isTied = !program.persistents.has("output.weight");
      return Object.fromEntries(
        [...program.persistents.keys()].map((name) => {
          // An adapter's parts lie beside what they are added to.
          const adapted = name.replace(/^adapter\.\d+\./, "");
          const layer = layerOf(adapted);
          if (layer !== undefined) return [name, layer >= first ? gpu.name : cpu.name];
          if (adapted.startsWith("output")) return [name, tail.name];
          if (name === "token_embd.weight" && isTied) return [name, tail.name];
          if (/^(token|position)_/.test(adapted)) return [name, cpu.name];
          // What all layers share is small: the frequencies of rope.
          return [name, [cpu.name, gpu.name]];
        }),
      );
    },
    unsupported(program) {
      try {
        explain(program, { placement: split.place(program), backends: [cpu, gpu] });
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
  throw new UnsupportedError("layersOnGpu", `no GPU is open (${reasons.join("; ")}); name a backend to use it all the same`);
}

/** The layer that a persistent belongs to: `blk.7.attn_q.weight` and `cache.7` are of layer 7. */
function layerOf(name: string): number | undefined {
  const part = name.split(".").find((text) => /^\d+$/.test(text));
  return part === undefined ? undefined : Number(part);
}
