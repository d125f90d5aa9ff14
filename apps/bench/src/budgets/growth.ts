import { type Backend, createProgram, type Program, type Value } from "@centella/core";
import { lower } from "@centella/core/backend";
import { estimateMedian } from "../stats/bootstrap.ts";
import { seedOf } from "../stats/random.ts";
import type { Figure } from "./budget.ts";

const [few, many] = [100, 1000] as const;
const rounds = 15;

/** Cost of compiling an op in a program of 1000 ops relative to one in a program of 100: 1 if compiling is linear. */
export function growthFigure(name: string, open: () => Promise<Backend>): Figure {
  return {
    name: `${name} compile time per op, ${many} ops against ${few}`,
    unit: "×",
    backend: name,
    async measure() {
      const backend = await open();
      const secondsPerOp = async (count: number): Promise<number> => {
        const program = unfusable(count);
        const start = performance.now();
        (await backend.compile(program)).dispose();
        return (performance.now() - start) / 1e3 / count;
      };
      try {
        for (const count of [few, many]) await secondsPerOp(count);
        const ratios: number[] = [];
        for (let round = 0; round < rounds; round++) ratios.push((await secondsPerOp(many)) / (await secondsPerOp(few)));
        return { value: estimateMedian([ratios], seedOf(name)) };
      } finally {
        await backend.dispose();
      }
    },
  };
}

/** The same ratio for core's own passes, without kernels. */
export function passesFigure(): Figure {
  const [short, long] = [1000, 4000];
  const secondsPerOp = (program: Program, count: number): number => {
    const start = performance.now();
    lower(program, "none", () => undefined);
    return (performance.now() - start) / 1e3 / count;
  };
  const name = `core's passes per op, ${long} ops against ${short}`;
  return {
    name,
    unit: "×",
    backend: "reference",
    async measure() {
      const [few, many] = [unfusable(short), unfusable(long)];
      for (let round = 0; round < 3; round++) for (const program of [few, many]) secondsPerOp(program, 1);
      const ratios = Array.from({ length: rounds }, () => secondsPerOp(many, long) / secondsPerOp(few, short));
      return { value: estimateMedian([ratios], seedOf(name)) };
    },
  };
}

/** Ops without repetitions, none of which fuses with its neighbour. */
function unfusable(count: number): Program {
  const program = createProgram();
  let x: Value = program.input("x", "f32", [8, 8]);
  const first = x;
  for (let i = 0; i < count; i += 2) x = program.matmul(program.softmax(x), first);
  program.output("y", x);
  return program;
}
