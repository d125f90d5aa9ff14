import { Worker } from "node:worker_threads";
import { type GgufInput, readGguf } from "@centella/gguf";
import { ChatTemplate, createTokenizer, type LoadModelOptions, type Tokenizer } from "@centella/llm";
import { loadModel } from "@centella/llm/worker";
import { type Engine, groupEngines, type LoadContext } from "@centella/server";
import type { RuntimeOptions } from "../backends.ts";

/** Workers of the devices of `--devices`. Each holds an engine of every model. */
export class DeviceModels {
  readonly #workers: readonly Worker[];

  constructor(devices: readonly number[], options: Omit<RuntimeOptions, "device">) {
    // The script is next to this module, both in the sources and in the bundle.
    const script = new URL(import.meta.url.replace(/[^/]*(\.[jt]s)$/, "deviceWorker$1"));
    this.#workers = devices.map((device) => new Worker(script, { workerData: { ...options, device } satisfies RuntimeOptions }));
  }

  /** Loads a model on every device. @throws the errors of `loadModel` */
  async load(
    source: GgufInput,
    options: Omit<LoadModelOptions, "runtime" | "cache">,
    { signal, onProgress }: LoadContext,
  ): Promise<Engine> {
    const progress = this.#workers.map(() => ({ done: 0, total: 0 }));
    const sum = (of: (each: { readonly done: number; readonly total: number }) => number): number =>
      progress.reduce((total, each) => total + of(each), 0);
    const loading = this.#workers.map((worker, i) =>
      loadModel(source, {
        ...options,
        worker,
        signal,
        cache: true,
        onProgress(done, total) {
          progress[i] = { done, total };
          onProgress(
            sum((each) => each.done),
            sum((each) => each.total),
          );
        },
      }),
    );
    try {
      const models = await Promise.all(loading);
      return groupEngines(models, await partsOf(source, signal));
    } catch (error) {
      const settled = await Promise.allSettled(loading);
      await Promise.all(settled.map((each) => (each.status === "fulfilled" ? each.value.dispose() : undefined)));
      throw error;
    }
  }

  /** Ends the workers. Their models must be disposed of. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

/** What the server needs of a file in this thread. Its weights are not read. */
async function partsOf(source: GgufInput, signal: AbortSignal): Promise<Pick<Engine, "tokenizer" | "chatTemplate">> {
  await using file = await readGguf(source, { signal, cache: true });
  const { metadata } = file;
  let tokenizer: Tokenizer | undefined;
  let chatTemplate: ChatTemplate | undefined;
  return {
    get tokenizer() {
      tokenizer ??= createTokenizer(metadata);
      return tokenizer;
    },
    get chatTemplate() {
      chatTemplate ??= ChatTemplate.fromMetadata(metadata);
      return chatTemplate;
    },
  };
}
