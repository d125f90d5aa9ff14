import type { BackendFactory } from "@centella/core";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";

/** Prompt, length and settings that make all backends choose the same tokens. */
export const story = {
  prompt: { ids: [0, 2817, 632, 263, 534] },
  generation: { temperature: 0, maxTokens: 12 },
  settings: { cacheType: "f32", activations: "f32", contextLength: 64, batchSize: 1 },
} as const;

/** A story's continuation, and the backends that computed it. */
export interface Continued {
  readonly ids: readonly number[];
  readonly computedBy: readonly string[];
}

/** Continues the story on one backend. Runs in Node and in pages. */
export async function continueStory(backend: BackendFactory, source: string): Promise<Continued> {
  await using runtime = await createRuntime({ backends: [backend], policy: { force: backend.name } });
  await using model = await loadModel(source, { runtime, ...story.settings });
  const { ids } = await model.createSession().complete(story.prompt, story.generation);
  const computedBy = Object.entries(runtime.counters).flatMap(([name, { ops }]) => (Object.keys(ops).length > 0 ? [name] : []));
  return { ids, computedBy };
}
