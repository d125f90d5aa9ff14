import { basename } from "node:path";
import type { ModelCompetitor, ModelRunner } from "../models/competitor.ts";
import type { Contestant, Row } from "../runner/subject.ts";
import type { Suite } from "./suite.ts";

const checkedIds: readonly number[] = [3, 14, 15, 9, 26, 5];
/** f16 caches and 8-bit activations round differently on each backend; a wrong kernel is off by far more. */
const distanceLimit = 2e-3;

/** Tokens per second of prompts and of decoding, per model file. */
export const generate: Suite = {
  name: "generate",
  summary: "prefill and decode of models",
  rows({ modelCompetitors, models, quick }) {
    const promptTokens = quick ? 64 : 512;
    const decodeTokens = quick ? 16 : 64;
    const prompt = Array.from({ length: promptTokens }, (_, i) => 5 + ((i * 37) % 4000));
    return models.flatMap((file) => {
      const loaded = modelCompetitors.map((competitor) => ({
        competitor,
        shared: sharedRunner(competitor, file, promptTokens + decodeTokens + 8),
      }));
      const row = (id: string, tokens: number, seconds: (runner: ModelRunner) => Promise<number>): Row => ({
        id: `${basename(file, ".gguf")} ${id}`,
        metric: "tokens/s",
        bound: "none",
        work: { tokens },
        data: "-",
        isLarge: false,
        contestants: loaded.map(({ competitor, shared }) => contestantOf(competitor, shared, seconds)),
        verify: ({ 0: distance }) =>
          distance! <= distanceLimit ? undefined : `logits are ${distance} from the reference's (1 - cosine), limit ${distanceLimit}`,
      });
      return [
        row(`prefill ${promptTokens}`, promptTokens, (runner) => runner.prefill(prompt)),
        row(`decode ${decodeTokens}`, decodeTokens, (runner) => runner.decode(prompt.slice(0, 16), decodeTokens)),
      ];
    });
  },
};

function contestantOf(
  { name, side, threads }: ModelCompetitor,
  shared: SharedRunner,
  seconds: (runner: ModelRunner) => Promise<number>,
): Contestant {
  return {
    name,
    side,
    threads,
    async prepare() {
      const runner = await shared.acquire();
      return {
        async sample(calls) {
          let total = 0;
          for (let i = 0; i < calls; i++) total += await seconds(runner);
          return total;
        },
        async result() {
          const distance = await runner.distance?.(checkedIds);
          return distance === undefined ? undefined : [distance];
        },
        dispose: () => shared.release(),
      };
    },
  };
}

interface SharedRunner {
  acquire(): Promise<ModelRunner>;
  release(): Promise<void>;
}

/** One loaded model for all rows of a file. */
function sharedRunner(competitor: ModelCompetitor, file: string, contextLength: number): SharedRunner {
  let users = 0;
  let opening: Promise<ModelRunner> | undefined;
  return {
    async acquire() {
      opening ??= competitor.open(file, contextLength);
      const runner = await opening;
      users++;
      return runner;
    },
    async release() {
      users--;
      if (users > 0) return;
      const runner = await opening!;
      opening = undefined;
      await runner.dispose();
    },
  };
}
