import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime, type Runtime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { hollowGpu } from "../gpu/hollowGpu.ts";
import { ModelSource } from "../gpu/modelSource.ts";
import { type ModelShape, shapes } from "../model/shapes.ts";
import { Skip } from "../runner/subject.ts";
import { exactly, type Figure } from "./budget.ts";

/** Bytes of a read from which on the memory is measured after it. */
const leastSampled = 2 ** 20;

/**
 * Host memory of loading a model with 8 billion weights on WebGPU, over the idle process: JavaScript's heap, memory outside of it, and
 * what the backend has mapped. Mapped memory that JavaScript has arrays of counts twice. Garbage is collected first, so that the figure
 * does not depend on when the engine does it.
 */
export function gpuMemoryFigure(): Figure {
  return {
    name: "webgpu peak host memory of loading an 8B model",
    unit: "MB",
    backend: "webgpu",
    async measure() {
      try {
        return exactly((await peakOfLoading("llama-3.1-8b", shapes["llama-3.1-8b"]!)) / 1e6);
      } catch (error) {
        if (error instanceof Skip) return { skipped: error.message };
        throw error;
      }
    },
  };
}

/** Bytes above those before the load, at the worst moment. @throws {Skip} where the package `webgpu` is not installed */
export async function peakOfLoading(name: string, shape: ModelShape): Promise<number> {
  const runtime = await createRuntime({ backends: [webgpu({ gpu: hollowGpu() })], policy: { force: "webgpu" } });
  try {
    // The source's own bytes stand for a file, which takes no memory.
    const source = new ModelSource(name, shape, "Q4_K_M");
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const idle = heldBytes(runtime);
    let peak = idle;
    const sample = (): void => {
      collect();
      peak = Math.max(peak, heldBytes(runtime));
    };
    const sampleAfter = (length: number): void => (length < leastSampled ? undefined : sample());
    const sampled = {
      size: source.size,
      read: (offset: number, length: number) => source.read(offset, length).finally(() => sampleAfter(length)),
      readInto: (target: Uint8Array, offset: number) => source.readInto(target, offset).finally(() => sampleAfter(target.length)),
    };
    const model = await loadModel(sampled, { runtime, contextLength: 512 });
    sample();
    await model.dispose();
    return peak - idle;
  } finally {
    await runtime.dispose();
  }
}

function heldBytes(runtime: Runtime): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external + runtime.backends.reduce((sum, backend) => sum + backend.memory().other, 0);
}
