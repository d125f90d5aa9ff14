import { type Backend, createProgram } from "@centella/core";
import { uniform } from "../stats/random.ts";
import type { Ceiling } from "./measure.ts";

/**
 * Copy bandwidth of a GPU: `assign` between two persistents far beyond its caches, read and written bytes added up. Nothing is
 * allocated, uploaded or read back. This backend's own kernel copies, so a fraction of the rate shows a kernel's distance from
 * streaming, not from the data sheet.
 */
export async function measureGpuCopy(backend: Backend): Promise<Ceiling> {
  const elements = backend.device.kind === "gpu" ? 2 ** 26 : 2 ** 20;
  const calls = backend.device.kind === "gpu" ? 20 : 1;
  const spec = { dtype: "f32", shape: [elements] } as const;
  const program = createProgram();
  program.assign(program.persistent("to", spec, { init: "zeros" }), program.persistent("from", spec));
  const plan = await backend.compile(program);
  const run = async (): Promise<number> => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) plan.run({});
    await backend.idle();
    return (performance.now() - start) / 1e3 / calls;
  };
  try {
    const data = new Uint8Array(uniform(1, elements).buffer);
    await plan.load("from", { size: data.byteLength, read: async (offset, length) => data.subarray(offset, offset + length) });
    for (let i = 0; i < 3; i++) await run();
    const samples: number[][] = [];
    for (let pass = 0; pass < 5; pass++) samples.push([await run(), await run()]);
    return { kind: "copy", threads: 0, backend: backend.name, work: 8 * elements, samples };
  } finally {
    plan.dispose();
  }
}
