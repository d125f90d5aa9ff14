import { type Backend, createProgram } from "@centella/core";
import { uniform } from "../stats/random.ts";
import type { Ceiling } from "./measure.ts";

/**
 * Copy bandwidth of a GPU: `y = 1.5 x` over data far beyond its caches, read and written bytes added up. It is this backend's own
 * kernel that copies, so a fraction of it tells how far from streaming a kernel is, not how far from the data sheet.
 */
export async function measureGpuCopy(backend: Backend): Promise<Ceiling> {
  const elements = backend.device.kind === "gpu" ? 2 ** 26 : 2 ** 20;
  const calls = backend.device.kind === "gpu" ? 20 : 1;
  const program = createProgram();
  const x = program.input("x", "f32", [elements]);
  program.output("y", program.scale(x, { by: 1.5 }), { to: "device" });
  const plan = await backend.compile(program);
  const input = backend.upload({ dtype: "f32", shape: [elements] }, uniform(1, elements));
  const run = async (): Promise<number> => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) plan.run({ x: input }).y!.dispose();
    await backend.idle();
    return (performance.now() - start) / 1e3 / calls;
  };
  try {
    for (let i = 0; i < 3; i++) await run();
    const samples: number[][] = [];
    for (let pass = 0; pass < 5; pass++) samples.push([await run(), await run()]);
    return { kind: "copy", threads: 0, backend: backend.name, work: 8 * elements, samples };
  } finally {
    input.dispose();
    plan.dispose();
  }
}
