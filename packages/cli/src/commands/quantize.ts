import { quantizeGguf, quantizePlan, type Recipe, readImatrix, recipeOf, recipes } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { openModel } from "../modelFile.ts";
import { flag, number, text } from "../options.ts";
import { formatSize, ProgressBar } from "../progress.ts";
import { UsageError } from "../usageError.ts";

/** `centella quantize IN OUT TYPE`: quantizes a model to the same bytes as llama-quantize. */
export const quantize: Command = command({
  name: "quantize",
  arguments: "IN OUT TYPE",
  summary: "quantise a GGUF file by one of llama.cpp's recipes",
  details: `TYPE is one of ${recipes.join(", ")}`,
  options: {
    imatrix: text("FILE", "importance matrix, as written by llama-imatrix"),
    threads: number("N", "number of threads, about 20 MB each (default: all cores, at most 8)", {
      short: "t",
      min: 1,
      max: 256,
      integer: true,
    }),
    pure: flag("use one type for all tensors instead of the recipe's mix"),
    "allow-requantize": flag("accept a quantised file, at a loss of quality"),
    "dry-run": flag("only print the new type of each tensor"),
    json: flag("print one JSON object"),
  },
  async run(values, positionals, context) {
    const { signal, output } = context;
    const [path, out, type] = requireArguments("quantize", ["IN", "OUT", "TYPE"], positionals);
    const recipe = toRecipe(type);
    await using file = await openModel(path, context);
    const planOptions = {
      pure: values.pure === true,
      allowRequantize: values["allow-requantize"] === true,
      ...(values.imatrix === undefined ? {} : { imatrix: await readImatrix(values.imatrix, { signal }) }),
    };
    const tensors = quantizePlan(file, recipe, planOptions);
    if (values["dry-run"]) {
      output.print(
        values.json ? JSON.stringify({ recipe, tensors }) : tensors.map(({ name, from, to }) => `${from} → ${to}  ${name}`).join("\n"),
      );
      return;
    }
    const bar = new ProgressBar(`writing ${out}`, output);
    const started = performance.now();
    const { bytes, threads } = await quantizeGguf(out, file, recipe, {
      ...planOptions,
      signal,
      onProgress: (done, total) => bar.update(done, total),
      ...(values.threads === undefined ? {} : { threads: values.threads }),
    }).finally(() => bar.end());
    const seconds = (performance.now() - started) / 1000;
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    output.print(
      values.json
        ? JSON.stringify({ file: out, recipe, bytes, seconds, threads, peakMemoryBytes, tensors })
        : `${out}: ${formatSize(bytes)} of ${formatSize(file.source.size)} in ${seconds.toFixed(1)} s, peak memory ${formatSize(peakMemoryBytes)}`,
    );
  },
});

function toRecipe(type: string): Recipe {
  try {
    return recipeOf(type);
  } catch (error) {
    throw new UsageError(`quantize: ${error instanceof Error ? error.message.replace(/^gguf: /, "") : String(error)}`);
  }
}
