import { basename } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ModelCompetitor, ModelRunner } from "../models/competitor.ts";
import { sharedRunner } from "../models/sharedRunner.ts";
import { trainedContext } from "../models/trainedContext.ts";
import { type Contestant, type Row, Skip } from "../runner/subject.ts";
import type { Suite } from "./suite.ts";

/** Unresponsiveness of the thread that calls a model: time until an abort takes effect, and the event loop's longest delay. */
export const latency: Suite = {
  name: "latency",
  summary: "aborts, and the event loop's delay while a model computes",
  rows({ kind, modelCompetitors, models, quick }) {
    if (kind !== "cpu") return [];
    const [prompt, tokens] = quick ? [256, 16] : [1000, 64];
    const ids = Array.from({ length: prompt }, (_, i) => 5 + ((i * 37) % 400));
    return models.flatMap((file) => {
      const loaded = modelCompetitors.map((competitor) => ({ competitor, shared: sharedRunner(competitor, file, prompt + tokens) }));
      const row = (id: string, seconds: (runner: ModelRunner) => Promise<number>, floor: readonly Contestant[]): Row => ({
        id: `${basename(file, ".gguf")} ${id}`,
        metric: "ms",
        bound: "none",
        work: {},
        data: "-",
        isLarge: false,
        contestants: [
          ...loaded.map(({ competitor, shared }) => contestantOf(competitor, file, prompt + tokens, shared, seconds)),
          ...floor,
        ],
        verify: () => undefined,
      });
      return [
        row(
          `abort in a prompt of ${prompt}`,
          (runner) => {
            if (runner.abort === undefined) throw new Skip("prompts cannot be aborted here");
            return runner.abort(ids);
          },
          [],
        ),
        row(`longest delay, prompt of ${prompt}`, (runner) => longestDelay(() => runner.prefill(ids)), [atRest]),
        row(`longest delay, ${tokens} tokens`, (runner) => longestDelay(() => runner.decode(ids.slice(0, 16), tokens)), [atRest]),
      ];
    });
  },
};

function contestantOf(
  { name, side, threads, isElsewhere }: ModelCompetitor,
  file: string,
  room: number,
  shared: ReturnType<typeof sharedRunner>,
  seconds: (runner: ModelRunner) => Promise<number>,
): Contestant {
  return {
    name,
    side,
    threads,
    async prepare() {
      if (isElsewhere === true) throw new Skip("computes in other processes");
      const context = await trainedContext(file);
      if (room > context) throw new Skip(`the model's context is ${context} tokens`);
      const runner = await shared.acquire();
      return {
        async sample(calls) {
          let total = 0;
          for (let i = 0; i < calls; i++) total += await seconds(runner);
          return total;
        },
        result: async () => undefined,
        dispose: () => shared.release(),
      };
    },
  };
}

/** The floor: the delay of machine and timer while nothing computes. */
const atRest: Contestant = {
  name: "at rest",
  side: "peer",
  threads: 1,
  prepare: async () => ({
    async sample(calls) {
      let total = 0;
      for (let i = 0; i < calls; i++) total += await longestDelay(() => new Promise((resolve) => setTimeout(resolve, 200)));
      return total;
    },
    result: async () => undefined,
    dispose: () => undefined,
  }),
};

/** Longest time in seconds between two turns of the event loop during `work`, measured with a timer of one millisecond. */
async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  delay.disable();
  return delay.max / 1e9;
}
