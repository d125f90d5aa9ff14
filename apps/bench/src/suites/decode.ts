import type { BackendFactory } from "@centella/core";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";
import { formatTable } from "../table.ts";

const promptIds: readonly number[] = Array.from({ length: 128 }, (_, i) => (i === 0 ? 0 : 5 + ((i * 37) % 4000)));
const maxTokens = 64;
const rounds = 3;

/** Prompt and decode speed of the embedded model on each backend alone: medians over rounds, backends in turn. */
export async function decode(factories: readonly BackendFactory[]): Promise<string> {
  const rows = [];
  for (const factory of factories) rows.push(await speeds(factory));
  const head = ["fable-q4_k_m, tokens/s (median)", `prompt of ${promptIds.length}`, `decode of ${maxTokens}`, "activations"];
  return formatTable(head, rows);
}

async function speeds(factory: BackendFactory): Promise<string[]> {
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  try {
    const model = await loadModel(fable, { runtime });
    const prompt: number[] = [];
    const decoded: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      for await (const part of model.createSession().generate({ ids: [...promptIds] }, { temperature: 0, maxTokens })) {
        if (part.type !== "finish" || round === 0) continue;
        prompt.push(part.timings.promptTokensPerSecond);
        decoded.push(part.timings.decodeTokensPerSecond);
      }
    }
    return [factory.name, median(prompt).toFixed(0), median(decoded).toFixed(0), model.info.activations];
  } finally {
    await runtime.dispose();
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
