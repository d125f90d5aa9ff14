import { basename } from "node:path";
import { elementAt } from "@centella/quant/checks";

import type { ModelCompetitor, ModelRunner } from "../models/competitor.ts";
import { type SharedRunner, sharedRunner } from "../models/sharedRunner.ts";
import { trainedContext } from "../models/trainedContext.ts";
import { type Contestant, type Row, Skip } from "../runner/subject.ts";
import type { Suite } from "./suite.ts";

const checkedIds: readonly number[] = [3, 14, 15, 9, 26, 5];
/** f16 caches and 8-bit activations round differently on each backend; a wrong kernel is off by far more. */
const distanceLimit = 2e-3;
/** Prompt tokens of a decode at depth 0, since a text cannot start empty. */
const shortPrompt = 16;
/** Number of texts in the row that decodes several texts at once. */
const textsTogether = 8;

/** Tokens per second of prompts and of decoding, per model file. Tests are named as llama.cpp's llama-bench names them. */
export const generate: Suite = {
  name: "generate",
  summary: "prefill and decode of models",
  rows({ modelCompetitors, models, quick }) {
    const prompts = quick ? [64] : [128, 512, 4096];
    const depths = quick ? [0] : [0, 8192];
    const tokens = quick ? 16 : 64;
    return models.flatMap((file) => {
      const room = Math.max(...prompts, ...depths.map((depth) => depth + tokens)) + shortPrompt;
      const loaded = modelCompetitors.map((competitor) => ({ competitor, shared: sharedRunner(competitor, file, room) }));
      const row = (test: Test): Row => ({
        id: `${basename(file, ".gguf")} ${test.id}`,
        metric: test.metric,
        bound: "none",
        work: { tokens: test.tokens },
        data: "-",
        isLarge: false,
        contestants: loaded.map(({ competitor, shared }) => contestantOf(competitor, shared, file, test)),
        verify: ({ 0: distance }) =>
          distance! <= distanceLimit ? undefined : `logits are ${distance} from the reference's (1 - cosine), limit ${distanceLimit}`,
      });
      const prefill = (count: number) => (runner: ModelRunner) => runner.prefill(promptOf(count));
      return [
        ...prompts.map((count) => row({ id: `pp${count}`, metric: "tokens/s", tokens: count, room: count + 1, seconds: prefill(count) })),
        row({
          id: `first token after ${prompts[0]}`,
          metric: "ms",
          tokens: elementAt(prompts, 0),
          room: elementAt(prompts, 0) + 1,
          seconds: prefill(elementAt(prompts, 0)),
        }),
        row({
          id: `tg${tokens} of ${textsTogether} texts together`,
          metric: "tokens/s",
          tokens: tokens * textsTogether,
          room: shortPrompt + tokens,
          seconds(runner) {
            if (runner.decodeTogether === undefined) throw new Skip("it computes one text at a time here");
            return runner.decodeTogether(
              Array.from({ length: textsTogether }, (_, i) => [5 + i, ...promptOf(shortPrompt).slice(1)]),
              tokens,
            );
          },
        }),
        ...depths.map((depth) =>
          row({
            id: `tg${tokens}${depth === 0 ? "" : ` @ d${depth}`}`,
            metric: "tokens/s",
            tokens,
            room: Math.max(depth, shortPrompt) + tokens,
            seconds: (runner) => runner.decode(promptOf(Math.max(depth, shortPrompt)), tokens),
          }),
        ),
      ];
    });
  },
};

interface Test {
  readonly id: string;
  readonly metric: "tokens/s" | "ms";
  readonly tokens: number;
  /** Tokens that the context must hold. */
  readonly room: number;
  seconds(runner: ModelRunner): Promise<number>;
}

function promptOf(tokens: number): readonly number[] {
  return Array.from({ length: tokens }, (_, i) => 5 + ((i * 37) % 4000));
}

function contestantOf({ name, side, threads }: ModelCompetitor, shared: SharedRunner, file: string, test: Test): Contestant {
  return {
    name,
    side,
    threads,
    async prepare() {
      const context = await trainedContext(file);
      if (test.room > context) throw new Skip(`the model's context is ${context} tokens`);
      const runner = await shared.acquire();
      return {
        async sample(calls) {
          let total = 0;
          for (let i = 0; i < calls; i++) total += await test.seconds(runner);
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
