import { readFile } from "node:fs/promises";
import { type Command, command, requireArguments } from "../command.ts";
import { withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { flag, number, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

const defaultChunk = 512;

/** `centella perplexity FILE -f TEXT.txt`: how well a model predicts a text, measured as llama.cpp measures it. */
export const perplexity: Command = command({
  name: "perplexity",
  arguments: "FILE -f TEXT.txt",
  summary: "measure how well a model predicts a text",
  options: {
    file: text("TEXT.txt", "the text to predict, in UTF-8", { short: "f" }),
    chunks: number("N", "measure at most N chunks (default: all)", { min: 1, integer: true }),
    json: flag("print one JSON object at the end"),
    ...modelOptions,
    context: number("TOKENS", `tokens per chunk (default: ${defaultChunk})`, {
      min: 4,
      integer: true,
      short: "c",
      aliases: ["--ctx-size"],
    }),
  },
  async run(values, positionals, context) {
    const [path] = requireArguments("perplexity", ["FILE"], withFile(values, positionals));
    if (values.file === undefined) throw new UsageError("perplexity: expected -f TEXT.txt, got none");
    const content = await readFile(values.file, "utf8");
    const loading = { ...values, context: values.context ?? defaultChunk };
    await withModel(path, loading, context, async ({ model }) => {
      const { signal, output } = context;
      const result = await model.perplexity(content, {
        signal,
        ...(values.chunks === undefined ? {} : { chunks: values.chunks }),
        onProgress: ({ done, total, perplexity: soFar }) => output.status(`[${done}/${total}] ${soFar.toFixed(4)}`),
      });
      const { backend, activations, quantization, warnings, name } = model.info;
      output.print(
        values.json
          ? JSON.stringify({ ...result, model: name, quantization, activations, backend, warnings })
          : `perplexity ${result.perplexity.toFixed(4)} ± ${result.error.toFixed(4)} (${result.chunks} chunks of ${result.contextLength} tokens, on ${backend})`,
      );
    });
  },
});
