import { proxy, wrap } from "comlink";
import type { ModelSource } from "../model/source.ts";
import { storedInput } from "../model/storage.ts";
import type { Bench, BenchResult, ModelBench } from "../workers/bench.ts";

/** What is measured, and where. */
export interface BenchSettings extends Omit<ModelBench, "input"> {
  readonly backends: readonly string[];
  readonly source: ModelSource;
}

/** Results so far, and what is being measured. */
export interface BenchProgress {
  readonly results: readonly BenchResult[];
  readonly now: string | undefined;
  /** Why backends could not be measured. */
  readonly failures: readonly { readonly backend: string; readonly error: unknown }[];
}

/** Measures the backends one after the other, each in a worker of its own, which an abort ends. */
export async function runBench(
  { backends, source, ...tests }: BenchSettings,
  signal: AbortSignal,
  show: (progress: BenchProgress) => void,
): Promise<BenchProgress> {
  let progress: BenchProgress = { results: [], now: undefined, failures: [] };
  const update = (changes: Partial<BenchProgress>): void => {
    progress = { ...progress, ...changes };
    show(progress);
  };
  const report = (result: BenchResult): void => update({ results: [...progress.results, result] });
  for (const backend of backends) {
    signal.throwIfAborted();
    update({ now: backend });
    const worker = new Worker(new URL("../workers/bench.ts", import.meta.url), { type: "module", name: backend });
    // A worker that is ended answers no more.
    const aborted = new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const bench = wrap<Bench>(worker);
    try {
      await Promise.race([bench.model({ ...tests, input: await storedInput(source) }, proxy(report)), aborted]);
      await Promise.race([bench.kernels(proxy(report)), aborted]);
    } catch (error) {
      signal.throwIfAborted();
      update({ failures: [...progress.failures, { backend, error }] });
    } finally {
      worker.terminate();
    }
  }
  update({ now: undefined });
  return progress;
}

/** The results as a table of Markdown. */
export function markdownOf(results: readonly BenchResult[]): string {
  const rows = results.map(({ backend, device, test, result }) => `| ${backend} | ${device} | ${test} | ${result} |`);
  return ["| backend | device | test | result |", "| --- | --- | --- | ---: |", ...rows, ""].join("\n");
}
