import { quantizeGguf, quantizePlan, type Recipe, readImatrix, recipeOf, recipes } from "@centella/gguf";
import type { Command } from "../command.ts";
import { writeFile } from "../fileSink.ts";
import { openModel } from "../modelFile.ts";
import { flag, number, parseOptions, text } from "../options.ts";
import { formatSize, ProgressBar } from "../progress.ts";
import { UsageError } from "../usageError.ts";

const options = {
  imatrix: text("FILE", "importance of the weights, as llama-imatrix writes it"),
  threads: number("N", "threads to compute on, each of some 20 MB (default: all cores, at most 8)", { min: 1, max: 256, integer: true }),
  pure: flag("one type for all tensors instead of the recipe's mix"),
  "allow-requantize": flag("take a file that is quantised already, at a loss"),
  "dry-run": flag("only tell what each tensor would become"),
  json: flag("print one JSON object"),
};

/** `centella quantize IN OUT TYPE`: a smaller file of a model, with the bytes that llama-quantize gives it. */
export const quantize: Command = {
  usage: "quantize IN OUT TYPE",
  summary: "quantise a GGUF file by one of llama.cpp's recipes",
  details: `TYPE is one of ${recipes.join(", ")}`,
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, out, type, ...rest] = positionals;
    if (path === undefined || out === undefined || type === undefined || rest.length > 0)
      throw new UsageError(`quantize: expected IN, OUT and TYPE, got ${positionals.length} arguments`);
    const recipe = toRecipe(type);
    await using file = await openModel(path, signal);
    const planOptions = {
      pure: values.pure === true,
      allowRequantize: values["allow-requantize"] === true,
      ...(values.imatrix === undefined ? {} : { imatrix: await readImatrix(values.imatrix, { signal }) }),
    };
    const tensors = quantizePlan(file, recipe, planOptions);
    if (values["dry-run"]) {
      console.log(
        values.json ? JSON.stringify({ recipe, tensors }) : tensors.map(({ name, from, to }) => `${from} → ${to}  ${name}`).join("\n"),
      );
      return;
    }
    const bar = new ProgressBar(recipe, { isQuiet: values.json === true });
    const started = performance.now();
    let report: Awaited<ReturnType<typeof quantizeGguf>> | undefined;
    try {
      await writeFile(out, async (sink) => {
        report = await quantizeGguf(sink, file, recipe, {
          ...planOptions,
          signal,
          onProgress: (done, total) => bar.update(done, total),
          ...(values.threads === undefined ? {} : { threads: values.threads }),
        });
      });
    } finally {
      bar.end();
    }
    const { bytes, threads } = report!;
    const seconds = (performance.now() - started) / 1000;
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    console.log(
      values.json
        ? JSON.stringify({ file: out, recipe, bytes, seconds, threads, peakMemoryBytes, tensors })
        : `${out}: ${formatSize(bytes)} of ${formatSize(file.source.size)} in ${seconds.toFixed(1)} s, peak memory ${formatSize(peakMemoryBytes)}`,
    );
  },
};

function toRecipe(type: string): Recipe {
  try {
    return recipeOf(type);
  } catch (error) {
    throw new UsageError(`quantize: ${error instanceof Error ? error.message.replace(/^gguf: /, "") : String(error)}`);
  }
}
