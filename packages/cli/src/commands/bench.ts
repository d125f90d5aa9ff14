import { elementAt } from "@centella/core/backend";
import { type BenchRow, benchModel, llamaBenchTable } from "@centella/llm/bench";
import { type Command, command } from "../command.ts";
import { withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { flag, number, type OptionSpec, type Spelling } from "../options.ts";
import { peakResidentBytes } from "../peakMemory.ts";
import { UsageError } from "../usageError.ts";

/** `centella bench [FILE]`: measures a model, and prints the results as llama.cpp's llama-bench does. */
export const bench: Command = command({
  name: "bench",
  arguments: "[FILE]",
  summary: "measure prompts, generation, load time and memory of a model",
  options: {
    prompt: lengths("lengths of prompts (default: 128,512)", 1, { short: "p", aliases: ["--n-prompt"] }),
    generate: lengths("lengths of generated texts (default: 32)", 1, { short: "n", aliases: ["--n-gen"] }),
    depth: lengths("tokens in the cache before each test (default: 0)", 0, { short: "d", aliases: ["--n-depth"] }),
    repetitions: number("N", "runs of each test (default: 5)", { min: 1, integer: true, short: "r" }),
    json: flag("print one JSON object instead of tables"),
    ...modelOptions,
  },
  async run(values, positionals, context) {
    const [file, ...rest] = withFile(values, positionals);
    if (rest.length > 0) throw new UsageError(`bench: expected at most one FILE, got ${rest.length + 1}`);
    const { signal, output } = context;
    const tests = {
      promptTokens: values.prompt ?? [128, 512],
      generatedTokens: values.generate ?? [32],
      depths: values.depth ?? [0],
    };
    if (tests.promptTokens.length + tests.generatedTokens.length === 0 || tests.depths.length === 0)
      throw new UsageError("bench: expected at least one test, got none; give -p or -n");
    const longest = Math.max(...tests.depths) + Math.max(...tests.promptTokens, ...tests.generatedTokens.map((tokens) => tokens + 1)) + 1;
    await withModel(
      file,
      values,
      context,
      async ({ model, loadMs }) => {
        const rows: BenchRow[] = [];
        for await (const row of benchModel(model, { ...tests, repetitions: values.repetitions, signal })) {
          rows.push(row);
          output.status(row.test);
        }
        const peakMemoryBytes = peakResidentBytes();
        if (values.json) {
          output.print(JSON.stringify({ model: model.info, loadMs, peakMemoryBytes, rows }));
          return;
        }
        const first = rows
          .filter(({ kind }) => kind === "prompt")
          .map((row) => `${row.test} ${middle(row.timeToFirstTokenMs).toFixed(0)} ms`);
        output.print(llamaBenchTable(model.info, rows));
        output.print(
          `\n${model.info.device} · loaded in ${loadMs.toFixed(0)} ms · peak memory ${(peakMemoryBytes / 2 ** 20).toFixed(0)} MiB` +
            `${first.length === 0 ? "" : ` · first token after ${first.join(", ")}`}`,
        );
      },
      { contextLength: longest },
    );
  },
});

/** Whole numbers from `min`, separated by commas. An empty text is an empty list. */
function lengths(help: string, min: number, spelling: Spelling): OptionSpec<readonly number[]> {
  return {
    value: "N,N,…",
    help,
    ...spelling,
    parse(given, name) {
      if (given === "") return [];
      return given.split(",").map((part) => {
        const value = part.trim() === "" ? Number.NaN : Number(part);
        if (!Number.isSafeInteger(value) || value < min)
          throw new UsageError(`--${name}: expected whole numbers from ${min}, got ${given}`);
        return value;
      });
    },
  };
}

function middle(values: readonly number[]): number {
  return elementAt(
    values.toSorted((a, b) => a - b),
    values.length >> 1,
  );
}
