import { createRuntime, type RuntimeOptions } from "@centella/core";
import { type GgufFile, readGguf } from "@centella/gguf";
import type { Sequence } from "../src/cache/sequence.ts";
import { SequencePool } from "../src/cache/sequencePool.ts";
import { compileModel } from "../src/load/compileModel.ts";
import type { DraftHead } from "../src/load/draft/draftHead.ts";
import { ModelSamples } from "../src/load/modelSamples.ts";
import type { ModelDescription } from "../src/model/modelBuilder.ts";
import { describeArchitecture } from "../src/models/index.ts";
import { Scheduler } from "../src/scheduler/scheduler.ts";

/** Which rows of logits a draft's first run has, and more tokens of the draft, to be fed one by one. */
type Feed = (rows: "all" | "last", more?: readonly number[]) => Promise<{ readonly logits: Float32Array; readonly tokens: number }>;

/** Opens a model on the reference or another backend, with what drafts for it by its states. */
export async function openHead(
  model: Uint8Array<ArrayBuffer>,
  { batchSize = 32, on = { backends: [] } }: { readonly batchSize?: number; readonly on?: RuntimeOptions },
  describeHead: (description: ModelDescription, file: GgufFile) => Promise<DraftHead>,
) {
  const runtime = await createRuntime(on);
  const file = await readGguf(model);
  const family = await describeArchitecture(file);
  const head = await describeHead(family, file);
  const description = { ...family, keeps: head.keeps };
  const source = { runtime, file, description, adapters: undefined };
  const compiled = await compileModel(source, new ModelSamples([file]), { runtime, cacheType: "f32", batchSize });
  const { draft } = await head.open(source, compiled);
  const { vocabSize, states } = description.config;
  const isRecurrent = states.length > 0;
  const sizes = { ...compiled.sizes, vocabSize, isEncoder: false, isRecurrent, output: "logits", width: vocabSize } as const;
  const scheduler = new Scheduler(compiled.plan, compiled.plan.selection.backend, sizes);
  let sequence: Sequence | undefined;
  return {
    vocabSize,
    draft,
    /** Computes a text except for its newest token, and returns what drafts after it. A longer text goes on after the one before. */
    async read(ids: readonly number[]): Promise<Feed> {
      const copiers = isRecurrent ? { states: { copyState: () => undefined } } : {};
      const pool = new SequencePool({ sequences: 1, blocks: 2, maxWaiting: 1 }, copiers, () => 0);
      sequence ??= await pool.acquire({}, ids);
      const target = sequence;
      await scheduler.feed(target, ids.slice(target.ids.length, -1), { rows: "none" });
      return async (rows, more = []) => {
        const opened = await draft.open(ids, { owner: {}, target, signal: undefined });
        const parts = [await draft.scheduler.feed(opened!.sequence, opened!.ids, { rows })];
        for (const id of more) parts.push(await draft.scheduler.feed(opened!.sequence, [id], { rows: "last" }));
        opened!.close();
        return { logits: Float32Array.from(parts.flatMap((part) => [...part])), tokens: opened!.ids.length };
      };
    },
    async [Symbol.asyncDispose]() {
      await draft.dispose();
      await scheduler.dispose();
      await file.close();
      await runtime.dispose();
    },
  };
}
