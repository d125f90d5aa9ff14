import { loadModel } from "@centella/llm";
import { type BenchRow, benchModel, llamaBenchTable } from "@centella/llm/bench";
import { fable } from "@centella/model-fable";
import { openRuntime } from "../backends.ts";
import type { Command } from "../command.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { flag, number, parseOptions, text } from "../options.ts";
import { peakResidentBytes } from "../peakMemory.ts";
import { UsageError } from "../usageError.ts";

const options = {
  prompt: text("N,N,…", "lengths of prompts (default: 128,512)", "p"),
  generate: text("N,N,…", "lengths of generated texts (default: 32)", "n"),
  depth: text("N,N,…", "tokens that are in the cache before (default: 0)", "d"),
  repetitions: number("N", "runs of each test (default: 5)", { min: 1, integer: true, short: "r" }),
  json: flag("print one JSON object instead of tables"),
  ...modelOptions,
};

/** `centella bench [FILE]`: how fast a model is here, in the shape of llama.cpp's llama-bench. */
export const bench: Command = {
  usage: "bench [FILE]",
  summary: "measure prompts, generation, load time and memory of a model",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 1) throw new UsageError(`bench: expected at most one FILE, got ${positionals.length}`);
    const tests = {
      promptTokens: lengths("prompt", values.prompt, [128, 512], 1),
      generatedTokens: lengths("generate", values.generate, [32], 1),
      depths: lengths("depth", values.depth, [0], 0),
    };
    if (tests.promptTokens.length + tests.generatedTokens.length === 0 || tests.depths.length === 0)
      throw new UsageError("bench: expected at least one test, got none; give -p or -n");
    const longest = Math.max(...tests.depths) + Math.max(...tests.promptTokens, ...tests.generatedTokens.map((tokens) => tokens + 1)) + 1;
    const given = positionals[0];
    const file = given === undefined ? fable : await modelPath(given, signal, { isQuiet: values.json === true });
    const runtime = await openRuntime(values);
    try {
      const start = performance.now();
      const model = await loadModel(file, { runtime, signal, contextLength: longest, ...loadOptions(values) });
      const loadMs = performance.now() - start;
      const rows: BenchRow[] = [];
      for await (const row of benchModel(model, { ...tests, repetitions: values.repetitions, signal })) {
        rows.push(row);
        if (values.json !== true && process.stderr.isTTY) process.stderr.write(`\r\x1b[K${row.test}`);
      }
      if (process.stderr.isTTY && values.json !== true) process.stderr.write("\r\x1b[K");
      const peakMemoryBytes = peakResidentBytes();
      if (values.json) console.log(JSON.stringify({ model: model.info, loadMs, peakMemoryBytes, rows }));
      else {
        const first = rows
          .filter(({ kind }) => kind === "prompt")
          .map((row) => `${row.test} ${middle(row.timeToFirstTokenMs).toFixed(0)} ms`);
        console.log(llamaBenchTable(model.info, rows));
        console.log(
          `\n${model.info.device} · loaded in ${loadMs.toFixed(0)} ms · peak memory ${(peakMemoryBytes / 2 ** 20).toFixed(0)} MiB` +
            `${first.length === 0 ? "" : ` · first token after ${first.join(", ")}`}`,
        );
      }
    } finally {
      await runtime.dispose();
    }
  },
};

/** @throws {UsageError} for what is no list of whole numbers from `min` */
function lengths(name: string, given: string | undefined, fallback: readonly number[], min: number): readonly number[] {
  if (given === undefined) return fallback;
  if (given === "") return [];
  return given.split(",").map((part) => {
    const value = part.trim() === "" ? Number.NaN : Number(part);
    if (!Number.isSafeInteger(value) || value < min) throw new UsageError(`--${name}: expected whole numbers from ${min}, got ${given}`);
    return value;
  });
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
