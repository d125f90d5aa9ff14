import { type BackendFactory, createProgram, createRuntime } from "@centella/core";
import { timed } from "../runner/timed.ts";
import { estimateMedian } from "../stats/bootstrap.ts";
import { seedOf } from "../stats/random.ts";
import type { Figure } from "./budget.ts";

/** Calls per sample: so few that many samples of about a millisecond are not interrupted, and the best try is one of those. */
const calls = 200;
const tries = 20;
const rounds = 11;

/** Cost of `runtime.sync.add` relative to a run of a plan that the caller compiled, which is the cost of the lookup. Both take turns. */
export function callFigure(factory: BackendFactory): Figure {
  const name = `${factory.name} sync call over a run of its plan`;
  return {
    name,
    unit: "×",
    backend: factory.name,
    async measure() {
      const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
      try {
        const x = new Float32Array(16);
        const a = runtime.tensor(x);
        const program = createProgram();
        program.output("y", program.add(program.input("x", "f32", [16]), program.input("b", "f32", [16])));
        const plan = await runtime.compile(program);
        const [call, run] = [timed(() => runtime.sync.add(a, a)), timed(() => plan.runSync!({ x, b: x }))];
        const ratio = async (): Promise<number> => {
          const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as [number, number];
          for (let i = 0; i < tries; i++) {
            best[0] = Math.min(best[0], await call(calls, 0));
            best[1] = Math.min(best[1], await run(calls, 0));
          }
          return best[0] / best[1];
        };
        await ratio();
        const ratios: number[] = [];
        for (let round = 0; round < rounds; round++) ratios.push(await ratio());
        return { value: estimateMedian([ratios], seedOf(name)) };
      } finally {
        await runtime.dispose();
      }
    },
  };
}
