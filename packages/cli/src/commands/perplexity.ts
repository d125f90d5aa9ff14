import { readFile } from "node:fs/promises";
import { loadModel } from "@centella/llm";
import { openRuntime } from "../backends.ts";
import type { Command } from "../command.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { flag, number, parseOptions, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

const defaultChunk = 512;

const options = {
  file: text("TEXT.txt", "the text to be predicted, as UTF-8", "f"),
  chunks: number("N", "measure at most N chunks (default: all)", { min: 1, integer: true }),
  json: flag("print one JSON object at the end"),
  ...modelOptions,
  context: number("TOKENS", `tokens of a chunk (default: ${defaultChunk})`, { min: 4, integer: true, short: "c" }),
};

/** `centella perplexity FILE -f TEXT.txt`: how well a model predicts a text, measured as llama.cpp measures it. */
export const perplexity: Command = {
  usage: "perplexity FILE -f TEXT.txt",
  summary: "measure how well a model predicts a text",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [given, ...rest] = positionals;
    if (given === undefined || rest.length > 0) throw new UsageError(`perplexity: expected one FILE, got ${positionals.length}`);
    if (values.file === undefined) throw new UsageError("perplexity: expected -f TEXT.txt, got none");
    const content = await readFile(values.file, "utf8");
    const path = await modelPath(given, signal, { isQuiet: values.json === true });
    const runtime = await openRuntime(values);
    try {
      const model = await loadModel(path, { runtime, signal, ...loadOptions({ ...values, context: values.context ?? defaultChunk }) });
      const result = await model.perplexity(content, {
        signal,
        ...(values.chunks === undefined ? {} : { chunks: values.chunks }),
        onProgress({ done, total, perplexity: soFar }) {
          if (!values.json && process.stderr.isTTY) process.stderr.write(`\r[${done}/${total}] ${soFar.toFixed(4)} `);
        },
      });
      if (!values.json && process.stderr.isTTY) process.stderr.write("\r");
      const { backend, activations, quantization, warnings } = model.info;
      console.log(
        values.json
          ? JSON.stringify({ ...result, model: model.info.name, quantization, activations, backend, warnings })
          : `perplexity ${result.perplexity.toFixed(4)} ± ${result.error.toFixed(4)} (${result.chunks} chunks of ${result.contextLength} tokens, on ${backend})`,
      );
    } finally {
      await runtime.dispose();
    }
  },
};
