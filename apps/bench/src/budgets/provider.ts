import { centellaModel } from "@centella/ai-sdk";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel, type Model } from "@centella/llm";
import { fable, fablePrompt } from "@centella/model-fable";
import { estimateMedian, type Passes } from "../stats/bootstrap.ts";
import { seedOf } from "../stats/random.ts";
import type { Figure } from "./budget.ts";

/** Tokens of a text. Texts of a tenth of a second are shorter than most disturbances. */
const tokens = 48;
/** Rounds, and texts of both in turns in a round, of which the shortest times count. */
const rounds = 16;
const turns = 3;

interface TextTimes {
  readonly firstMs: number;
  /** Processor time from the first token to the end: one thread computes, and what else runs on the machine does not count. */
  readonly restMs: number;
}

/** What the AI SDK's provider costs over the engine's own session: speed, and time to the first token. Both take turns. */
export function providerFigures(): readonly Figure[] {
  let measured: Promise<readonly (readonly [session: TextTimes, provider: TextTimes])[]> | undefined;
  const figure = (name: string, unit: string, compare: (session: TextTimes, provider: TextTimes) => number): Figure => ({
    name,
    unit,
    backend: "wasm",
    async measure() {
      measured ??= measure();
      const passes: Passes = [(await measured).map(([session, provider]) => compare(session, provider))];
      return { value: estimateMedian(passes, seedOf(name)) };
    },
  });
  return [
    figure("tokens a second by the AI SDK's provider over session.generate", "×", (session, provider) => session.restMs / provider.restMs),
    figure("time to the first token that the AI SDK's provider adds", "ms", (session, provider) => provider.firstMs - session.firstMs),
  ];
}

async function measure(): Promise<readonly (readonly [TextTimes, TextTimes])[]> {
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await using model = await loadModel(fable, { runtime, contextLength: 256 });
  const pairs: (readonly [TextTimes, TextTimes])[] = [];
  for (let round = 0; round < rounds; round++) {
    const texts: (readonly [TextTimes, TextTimes])[] = [];
    for (let turn = 0; turn < turns; turn++) texts.push([await timed(bySession(model)), await timed(byProvider(model))]);
    pairs.push([shortest(texts.map(([session]) => session)), shortest(texts.map(([, provider]) => provider))]);
  }
  // The first texts compute the prompt and compile kernels; later ones find the prompt in the cache.
  return pairs.slice(1);
}

function shortest(times: readonly TextTimes[]): TextTimes {
  return { firstMs: Math.min(...times.map(({ firstMs }) => firstMs)), restMs: Math.min(...times.map(({ restMs }) => restMs)) };
}

async function timed(texts: AsyncIterable<string>): Promise<TextTimes> {
  const startMs = performance.now();
  let first: { readonly ms: number; readonly cpu: NodeJS.CpuUsage } | undefined;
  for await (const _ of texts) first ??= { ms: performance.now(), cpu: process.cpuUsage() };
  if (first === undefined) throw new Error("provider: expected a text of some tokens, got none; this is a bug");
  const { user, system } = process.cpuUsage(first.cpu);
  return { firstMs: first.ms - startMs, restMs: (user + system) / 1000 };
}

async function* bySession(model: Model): AsyncGenerator<string> {
  const parts = model.createSession().generate([{ role: "user", content: fablePrompt }], { maxTokens: tokens, temperature: 0 });
  for await (const part of parts) if (part.type === "text") yield part.text;
}

async function* byProvider(model: Model): AsyncGenerator<string> {
  const { stream } = await centellaModel(model).doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: fablePrompt }] }],
    maxOutputTokens: tokens,
    temperature: 0,
  });
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) if (next.value.type === "text-delta") yield next.value.delta;
}
