import { webgpu } from "@centella/backend-webgpu";
import { type Backend, createProgram, UnsupportedError } from "@centella/core";
import { named } from "@centella/quant/checks";
import { useSwiftShader } from "@centella/test-devices";
import { exactly, type Figure } from "./budget.ts";

/** Trips to the device in one run of `relu → scale → add` after its plan is compiled. */
interface Trips {
  readonly uploads: number;
  readonly submits: number;
  readonly dispatches: number;
  readonly readbacks: number;
}

const kinds = ["uploads", "submits", "dispatches", "readbacks"] as const;

/** Counted on any WebGPU of the machine, SwiftShader if there is no other: the counts do not depend on the device. */
export function transferFigures(): readonly Figure[] {
  let counted: Promise<Trips | string> | undefined;
  return kinds.map((kind) => ({
    name: `webgpu relu → scale → add, ${kind} a run`,
    unit: kind,
    backend: "webgpu",
    async measure() {
      counted ??= countTrips();
      const trips = await counted;
      return typeof trips === "string" ? { skipped: trips } : exactly(trips[kind]);
    },
  }));
}

async function countTrips(): Promise<Trips | string> {
  useSwiftShader();
  let backend: Backend;
  try {
    backend = await webgpu().open();
  } catch (error) {
    if (error instanceof UnsupportedError) return error.message;
    throw error;
  }
  try {
    const program = createProgram();
    const x = program.input("x", "f32", [1000]);
    program.output("y", program.add(program.scale(program.relu(x), { by: 2 }), program.input("b", "f32", [1000])));
    const plan = await backend.compile(program);
    const run = (): Promise<unknown> => named(plan.run({ x: new Float32Array(1000), b: new Float32Array(1000) }), "y").data();
    await run();
    const before = snapshot(backend);
    await run();
    const after = snapshot(backend);
    plan.dispose();
    return Object.fromEntries(kinds.map((kind) => [kind, after[kind] - before[kind]])) as Record<(typeof kinds)[number], number>;
  } finally {
    await backend.dispose();
  }
}

function snapshot({ counters: { uploads, submits, readbacks, ops } }: Backend): Trips {
  return { uploads, submits, readbacks, dispatches: Object.values(ops).reduce((sum, count) => sum + count, 0) };
}
