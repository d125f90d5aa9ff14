import { basename } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { type GenerateOptions, type GenerationFinish, loadModel, type Model } from "@centella/llm";
import { fable, fablePrompt, fableSampling } from "@centella/model-fable";
import { openRuntime, opsByBackend } from "../backends.ts";
import type { Command } from "../command.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { flag, number, type OptionValues, parseOptions, text } from "../options.ts";
import { peakResidentBytes } from "../peakMemory.ts";
import { type RunReport, summarise } from "../report.ts";
import { UsageError } from "../usageError.ts";

const options = {
  prompt: text("TEXT", "the prompt; with a FILE and without this, stdin is read", "p"),
  tokens: number("N", "tokens to generate at most (default: 256)", { min: 1, integer: true, short: "n" }),
  temperature: number("T", "0 is greedy (default: 0.7)", { min: 0 }),
  "top-k": number("K", "keep the K likeliest tokens, 0 keeps all (default: 40)", { min: 0, integer: true }),
  "top-p": number("P", "keep the likeliest tokens that sum up to P (default: 1)", { min: 0, max: 1 }),
  "min-p": number("P", "drop tokens below P times the likeliest one (default: 0)", { min: 0, max: 1 }),
  "repeat-penalty": number("X", "1 is none (default: 1.1)", { min: 0 }),
  seed: number("SEED", "makes a run repeatable (default: random, and printed)", { min: 0, max: 2 ** 32 - 1, integer: true }),
  chat: flag("put the prompt into the file's chat template (the default where there is one)"),
  raw: flag("feed the prompt as plain text after BOS"),
  json: flag("print one JSON object at the end instead of streaming"),
  ...modelOptions,
};
type Values = OptionValues<typeof options>;

/** `centella run [FILE]`: generates text from a path, a pulled model or one to pull; without a FILE, from the model that Centella carries. */
export const run: Command = {
  usage: "run [FILE]",
  summary: "generate text from a GGUF file, or from the embedded model",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 1)
      throw new UsageError(`run: expected at most one FILE, got ${positionals.length}; quote a prompt with spaces`);
    if (values.chat && values.raw) throw new UsageError("run: expected --chat or --raw, got both");
    const given = positionals[0];
    const prompt = await promptOf(values, given);
    const file = given === undefined ? undefined : await modelPath(given, signal, { isQuiet: values.json === true });
    const runtime = await openRuntime(values.backend);
    try {
      const model = await loadModel(file ?? fable, { runtime, signal, ...loadOptions(values) });
      if (values.chat && !model.info.hasChatTemplate) {
        throw new UsageError("run: expected a chat template in the file for --chat, got none; use --raw");
      }
      const finish = await generate(model, prompt, { ...sampling(values), signal }, values.json === true);
      const report: RunReport = {
        text: finish.text,
        promptIds: finish.promptIds,
        ids: finish.ids,
        finishReason: finish.reason,
        seed: finish.seed,
        model: model.info.name ?? basename(file ?? fable.pathname),
        quantization: model.info.quantization,
        activations: model.info.activations,
        backend: model.info.backend,
        backendReason: model.info.backendReason,
        rejected: model.info.rejected,
        promptTokensPerSecond: finish.timings.promptTokensPerSecond,
        decodeTokensPerSecond: finish.timings.decodeTokensPerSecond,
        timeToFirstTokenMs: finish.timings.timeToFirstTokenMs,
        peakMemoryBytes: peakResidentBytes(),
        opsByBackend: opsByBackend(runtime),
        warnings: model.info.warnings,
      };
      console.log(values.json ? JSON.stringify(report) : `\n\n${summarise(report)}`);
    } finally {
      await runtime.dispose();
    }
  },
};

async function promptOf({ prompt }: Values, file: string | undefined): Promise<string> {
  if (prompt !== undefined) return prompt;
  if (file === undefined) return fablePrompt;
  if (process.stdin.isTTY) throw new UsageError("run: expected a prompt, got none; give one with -p or on stdin");
  return readAll(process.stdin);
}

function sampling(values: Values): GenerateOptions {
  return {
    ...fableSampling,
    maxTokens: values.tokens ?? 256,
    ...(values.raw === undefined ? {} : { raw: true }),
    ...(values.seed === undefined ? {} : { seed: values.seed }),
    ...(values.temperature === undefined ? {} : { temperature: values.temperature }),
    ...(values["top-k"] === undefined ? {} : { topK: values["top-k"] }),
    ...(values["top-p"] === undefined ? {} : { topP: values["top-p"] }),
    ...(values["min-p"] === undefined ? {} : { minP: values["min-p"] }),
    ...(values["repeat-penalty"] === undefined ? {} : { repeatPenalty: values["repeat-penalty"] }),
  };
}

/** Generates, streaming to the terminal unless `quiet`. */
async function generate(model: Model, prompt: string, options: GenerateOptions, quiet: boolean): Promise<GenerationFinish> {
  for await (const part of model.createSession().generate(prompt, options)) {
    if (part.type === "finish") return part;
    if (!quiet && part.type !== "prefill") process.stdout.write(part.text);
  }
  throw new Error("run: expected a finish part, got the end of the stream; this is a bug, please report it");
}
