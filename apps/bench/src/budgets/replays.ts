import { webgpu } from "@centella/backend-webgpu";
import { named } from "@centella/quant/checks";
import { idleGpu } from "../gpu/idleGpu.ts";
import { Skip } from "../runner/subject.ts";
import { median } from "../stats/bootstrap.ts";
import { softmaxes } from "../suites/programRows.ts";
import { exactly, type Figure } from "./budget.ts";

const dispatches = 500;
const warmUp = 300;
const samples = 40;
/** Runs between two readings of the heap: so few that most samples see no collection. */
const runsPerSample = 4;

/** Bytes of JavaScript's heap that a run of a plan takes, on Dawn without a GPU. */
export function replayFigure(): Figure {
  return {
    name: `webgpu run of ${dispatches} dispatches, objects`,
    unit: "KiB",
    backend: "webgpu",
    async measure() {
      try {
        return exactly((await heapPerRun()) / 1024);
      } catch (error) {
        if (error instanceof Skip) return { skipped: error.message };
        throw error;
      }
    },
  };
}

async function heapPerRun(): Promise<number> {
  const backend = await webgpu({ gpu: idleGpu() }).open();
  try {
    const plan = await backend.compile(softmaxes(dispatches));
    const inputs = { x: Float32Array.of(1) };
    const run = async (): Promise<void> => {
      const y = named(plan.run(inputs), "y");
      await y.ready();
      y.dispose();
    };
    for (let i = 0; i < warmUp; i++) await run();
    const taken: number[] = [];
    for (let i = 0; i < samples; i++) {
      const before = process.memoryUsage().heapUsed;
      for (let j = 0; j < runsPerSample; j++) await run();
      taken.push((process.memoryUsage().heapUsed - before) / runsPerSample);
    }
    // A collection between two readings makes the heap smaller.
    return median(taken.filter((bytes) => bytes > 0));
  } finally {
    await backend.dispose();
  }
}
