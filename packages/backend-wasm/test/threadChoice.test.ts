import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { createProgram } from "@centella/core";
import { describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { autoThreads } from "../src/threads/cores.ts";
import { ThreadChoice } from "../src/threads/threadChoice.ts";

/** Runs a choice with fixed times for each way. Returns the share of runs on all threads. */
function share(choice: ThreadChoice, runs: number, times: { readonly together: number; readonly alone: number }): number {
  let together = 0;
  for (let run = 0; run < runs; run++) {
    const isTogether = choice.next();
    if (isTogether) together++;
    choice.record(isTogether, isTogether ? times.together : times.alone);
  }
  return together / runs;
}

describe("the choice of threads for short runs", () => {
  test("follows the faster way despite outliers, and changes with it", () => {
    const choice = new ThreadChoice();
    share(choice, 20, { together: 1, alone: 2 });
    expect(share(choice, 200, { together: 1, alone: 2 })).toBeGreaterThan(0.9);
    const isTogether = choice.next();
    choice.record(isTogether, 1000);
    expect(share(choice, 40, { together: 1, alone: 2 })).toBeGreaterThan(0.9);
    // A core is busy, then free again.
    share(choice, 100, { together: 5, alone: 2 });
    expect(share(choice, 200, { together: 5, alone: 2 })).toBeLessThan(0.1);
    share(choice, 100, { together: 1, alone: 2 });
    expect(share(choice, 200, { together: 1, alone: 2 })).toBeGreaterThan(0.9);
  });
});

test("default threads: one per core, at most eight, limited to those the process may use", () => {
  const machine = (lists: readonly string[]) => (path: string) => lists[Number(/cpu(\d+)/.exec(path)![1])];
  const { hardwareConcurrency } = navigator;
  const set = (count: number) => Object.defineProperty(navigator, "hardwareConcurrency", { value: count, configurable: true });
  try {
    set(8);
    expect(autoThreads(machine(["0,4\n", "1,5\n", "2,6\n", "3,7\n", "0,4\n", "1,5\n", "2,6\n", "3,7\n"]))).toBe(4);
    expect(autoThreads(() => undefined)).toBe(8);
    set(2);
    expect(autoThreads(machine(["0", "1", "2", "3"]))).toBe(2);
    set(64);
    expect(autoThreads(() => undefined)).toBe(8);
  } finally {
    set(hardwareConcurrency);
  }
});

test("short runs alternating between the caller's thread and the pool give the same bits", async () => {
  const backend = await wasm({ threads: 3 }).open();
  const [k, layers] = [256, 12];
  const program = createProgram();
  const w = program.persistent("w", { dtype: "q8_0", shape: [k, k] });
  const weight = program.constant(new Float32Array(k).fill(1), "f32", [k]);
  let x = program.input("x", "f32", [program.dim("T", 4), k]);
  // Many short stages: late threads find the next list.
  for (let layer = 0; layer < layers; layer++)
    x = program.rmsNorm(program.matmul(x, w, { transposeB: true, activations: "ggml" }), weight, { eps: 1e-6 });
  program.output("y", x);
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(contentsOf({ dtype: "q8_0", shape: [k, k] }, 1).stored));
  const input = uniform(2, 4 * k);
  const wanted = [1, 4].map((tokens) => Buffer.from(plan.runSync!({ x: input.slice(0, tokens * k) }).y!.buffer));
  for (let run = 0; run < 400; run++) {
    const tokens = [1, 4][run % 2]!;
    const data = { x: input.slice(0, tokens * k) };
    const y = run % 5 === 0 ? plan.runSync!(data).y! : await plan.run(data).y!.data();
    expect(Buffer.from(y.buffer).equals(wanted[run % 2]!), `run ${run}`).toBe(true);
  }
  await backend.dispose();
});
