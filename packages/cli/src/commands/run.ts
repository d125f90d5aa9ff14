import { basename } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { type GenerateOptions, type GenerationFinish, loadModel, type Model, type Prompt } from "@centella/llm";
import { fable, fablePrompt } from "@centella/model-fable";
import { openRuntime, opsByBackend } from "../backends.ts";
import type { Command } from "../command.ts";
import { generateOptions, readGenerateOptions } from "../generateOptions.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { flag, number, type OptionValues, parseOptions, text } from "../options.ts";
import { peakResidentBytes } from "../peakMemory.ts";
import { type RunReport, summarise } from "../report.ts";
import { UsageError } from "../usageError.ts";

const options = {
  prompt: text("TEXT", "the prompt; with a FILE and without this, stdin is read", "p"),
  system: text("TEXT", "what the chat begins with"),
  chat: flag("put the prompt into the file's chat template (the default where there is one)"),
  raw: flag("feed the prompt as plain text after BOS"),
  logprobs: number("N", "with --json: tell each token's log probability, and the N likeliest ones", { min: 0, integer: true }),
  json: flag("print one JSON object at the end instead of streaming"),
  ...generateOptions,
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
    if (values.system !== undefined && values.raw) throw new UsageError("run: expected --system or --raw, got both");
    if (values.logprobs !== undefined && !values.json) throw new UsageError("run: expected --json beside --logprobs, got none");
    const given = positionals[0];
    const generation = {
      ...readGenerateOptions(values),
      ...(values.raw === undefined ? {} : { raw: true }),
      ...(values.logprobs === undefined ? {} : { logprobs: values.logprobs }),
    };
    const loading = loadOptions(values);
    const text = await promptText(values, given);
    const file = given === undefined ? undefined : await modelPath(given, signal, { isQuiet: values.json === true });
    const runtime = await openRuntime(values);
    try {
      const model = await loadModel(file ?? fable, { runtime, signal, ...loading });
      const wants = values.chat ? "--chat" : values.system === undefined ? undefined : "--system";
      if (wants !== undefined && !model.info.hasChatTemplate)
        throw new UsageError(`run: expected a chat template in the file for ${wants}, got none; use --raw without it`);
      const finish = await generate(model, promptOf(values, text), { ...generation, signal }, values.json === true);
      const report: RunReport = {
        text: finish.text,
        promptIds: finish.promptIds,
        ids: finish.ids,
        finishReason: finish.reason,
        limit: finish.limit,
        reasoning: finish.reasoning,
        logprobs: finish.logprobs,
        seed: finish.seed,
        model: model.info.name ?? basename(file ?? fable.pathname),
        quantization: model.info.quantization,
        activations: model.info.activations,
        contextLength: model.info.contextLength,
        contextReason: model.info.contextReason,
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

async function promptText({ prompt }: Values, file: string | undefined): Promise<string> {
  if (prompt !== undefined) return prompt;
  if (file === undefined) return fablePrompt;
  if (process.stdin.isTTY) throw new UsageError("run: expected a prompt, got none; give one with -p or on stdin");
  return readAll(process.stdin);
}

/** The user's turn, behind what the chat begins with. */
function promptOf({ system }: Values, content: string): Prompt {
  if (system === undefined) return content;
  return [
    { role: "system", content: system },
    { role: "user", content },
  ];
}

/** Generates, streaming to the terminal unless `quiet`. */
async function generate(model: Model, prompt: Prompt, options: GenerateOptions, quiet: boolean): Promise<GenerationFinish> {
  for await (const part of model.createSession().generate(prompt, options)) {
    if (part.type === "finish") return part;
    if (!quiet && part.type !== "prefill") process.stdout.write(part.text);
  }
  throw new Error("run: expected a finish part, got the end of the stream; this is a bug, please report it");
}
