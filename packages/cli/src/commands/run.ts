import { existsSync, readFileSync } from "node:fs";
import { text as readAll } from "node:stream/consumers";
import type { GenerationFinish, Prompt } from "@centella/llm";
import { opsByBackend } from "../backends.ts";
import { type Command, command } from "../command.ts";
import { generateOptions, readGenerateOptions } from "../generateOptions.ts";
import { type Loaded, withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { flag, grouped, number, type OptionValues, text } from "../options.ts";
import { peakResidentBytes } from "../peakMemory.ts";
import { type RunReport, summarise } from "../report.ts";
import { lastOf, writeGeneration } from "../streaming.ts";
import { UsageError } from "../usageError.ts";

const options = {
  ...grouped("Prompt", {
    prompt: text("TEXT", "the prompt, like the argument PROMPT", { short: "p" }),
    file: text("PATH", "read the prompt from a text file", { short: "f" }),
    escape: flag("process the escapes \\n, \\r, \\t, \\\\, \\' and \\\" in -p or PROMPT", { short: "e" }),
    system: text("TEXT", "system message", { aliases: ["-sys", "--system-prompt"] }),
    chat: flag("apply the file's chat template to the prompt (the default if there is a template)"),
    raw: flag("continue the prompt as plain text after BOS, without a chat template", { aliases: ["-no-cnv", "--no-conversation"] }),
  }),
  ...grouped("Output", {
    logprobs: number("N", "with --json: log probabilities of each token and of the N likeliest tokens"),
    json: flag("print one JSON object at the end instead of streaming"),
  }),
  ...generateOptions,
  ...modelOptions,
};
type Values = OptionValues<typeof options>;

/** `centella run [FILE] [PROMPT]`: generates text from FILE, or from the embedded model. */
export const run: Command = command({
  name: "run",
  arguments: "[FILE] [PROMPT]",
  summary: "generate text from a GGUF file, or from the embedded model",
  details:
    "FILE is a path, a URL, hf:OWNER/REPO:QUANT or a stored model. Without PROMPT, the prompt is read from stdin. On a terminal, a chat starts instead.",
  options,
  async run(values, positionals, context) {
    refuseContradictions(values);
    const [file, argument] = await fileAndPrompt(values, positionals);
    const generation = {
      ...readGenerateOptions(values),
      ...(values.raw && { raw: true }),
      ...(values.logprobs !== undefined && { logprobs: values.logprobs }),
    };
    // Options that contradict each other are reported before stdin is read.
    await loadOptions(values);
    const prompt = await promptText(values, file, argument);
    await withModel(file, values, context, async (loaded) => {
      const { model, runtime } = loaded;
      if (prompt === undefined) {
        const { chatWith } = await import("../chat/chatWith.ts");
        return chatWith(loaded, { system: values.system, values }, context);
      }
      const wants = values.chat ? "--chat" : values.system === undefined ? undefined : "--system";
      if (wants !== undefined && !model.info.hasChatTemplate)
        throw new UsageError(`run: expected a chat template in the file for ${wants}, got none; use --raw without it`);
      const parts = model.createSession().generate(promptOf(values, prompt), { ...generation, signal: context.signal, progress: true });
      const finish = await (values.json ? lastOf(parts) : writeGeneration(parts, context.output));
      const report = reportOf(loaded, finish, opsByBackend(runtime));
      if (values.json) context.output.print(JSON.stringify(report));
      else {
        context.output.write("\n");
        if (finish.complete === false) context.output.warn("warning: the text was cut short and does not match the format");
        for (const warning of finish.warnings ?? []) context.output.warn(`warning: ${warning}`);
        for (const line of summarise(report)) context.output.note(line);
      }
    });
  },
});

function refuseContradictions(values: Values): void {
  if (values.chat && values.raw) throw new UsageError("run: expected --chat or --raw, got both");
  if (values.system !== undefined && values.raw) throw new UsageError("run: expected --system or --raw, got both");
  if (values["no-reasoning"] && values.raw) throw new UsageError("run: expected --no-reasoning or --raw, got both");
  if (values["reasoning-budget"] !== undefined && values.raw) throw new UsageError("run: expected --reasoning-budget or --raw, got both");
  if (values.logprobs !== undefined && !values.json) throw new UsageError("run: expected --json with --logprobs, got none");
  if (values.prompt !== undefined && values.file !== undefined) throw new UsageError("run: expected --prompt or --file, got both");
}

/** Returns FILE and PROMPT. @throws {UsageError} for a prompt in place of FILE, and for too many arguments */
async function fileAndPrompt(values: Values, positionals: readonly string[]): Promise<readonly [string | undefined, string | undefined]> {
  const given = withFile(values, positionals);
  const [file, prompt] = given;
  if (given.length > 2)
    throw new UsageError(`run: expected at most FILE and PROMPT, got ${given.length} arguments; quote a prompt with spaces`);
  if (prompt !== undefined && (values.prompt ?? values.file) !== undefined)
    throw new UsageError("run: expected one prompt, got an argument and an option");
  if (file !== undefined && /\s/.test(file) && !/^(hf:|[a-z]+:\/\/)/.test(file) && !existsSync(file)) {
    const quoted = JSON.stringify(file);
    throw new UsageError(
      `run: expected FILE first, got ${quoted}, which is not a file; write centella run FILE ${quoted}, or centella run -p ${quoted} for the embedded model`,
    );
  }
  return [file, prompt];
}

/** Returns the prompt, or undefined if a chat asks for it. @throws {UsageError} if stdin is empty */
async function promptText(values: Values, file: string | undefined, argument: string | undefined): Promise<string | undefined> {
  const given = values.prompt ?? argument;
  if (given !== undefined) return values.escape ? unescaped(given) : given;
  if (values.file !== undefined) return readFileSync(values.file, "utf8");
  if (file === undefined) return (await import("@centella/model-fable")).fablePrompt;
  if (process.stdin.isTTY === true) {
    if (!values.json && !values.raw) return undefined;
    throw new UsageError("run: expected a prompt, got none; give it after FILE, with -p, or on stdin");
  }
  const read = await readAll(process.stdin);
  if (read.trim() === "") throw new UsageError("run: expected a prompt, got an empty stdin; give it after FILE or with -p");
  return read;
}

const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function unescaped(text: string): string {
  return text.replace(/\\([nrt'"\\])/g, (_, letter: string) => controls[letter] ?? letter);
}

/** Returns the user's turn, after the system message if there is one. */
function promptOf({ system }: Values, content: string): Prompt {
  if (system === undefined) return content;
  return [
    { role: "system", content: system },
    { role: "user", content },
  ];
}

function reportOf({ model: { info }, name }: Loaded, finish: GenerationFinish, ops: Readonly<Record<string, number>>): RunReport {
  return {
    text: finish.text,
    promptIds: finish.promptIds,
    ids: finish.ids,
    finishReason: finish.reason,
    limit: finish.limit,
    reasoning: finish.reasoning,
    complete: finish.complete,
    toolCalls: finish.toolCalls,
    value: finish.value,
    logprobs: finish.logprobs,
    seed: finish.seed,
    model: name,
    quantization: info.quantization,
    activations: info.activations,
    contextLength: info.contextLength,
    contextReason: info.contextReason,
    backend: info.backend,
    backendReason: info.backendReason,
    rejected: info.rejected,
    promptTokensPerSecond: finish.timings.promptTokensPerSecond,
    decodeTokensPerSecond: finish.timings.decodeTokensPerSecond,
    timeToFirstTokenMs: finish.timings.timeToFirstTokenMs,
    draftedTokens: finish.usage.draftedTokens,
    acceptedTokens: finish.usage.acceptedTokens,
    peakMemoryBytes: peakResidentBytes(),
    opsByBackend: ops,
    warnings: [...info.warnings, ...(finish.warnings ?? [])],
  };
}
