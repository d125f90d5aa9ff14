import { rm } from "node:fs/promises";
import { contentOf, parseSplitName, splitContent, splitName, writeGguf } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { openModel } from "../modelFile.ts";
import { flag, number, type OptionSpec } from "../options.ts";
import { ProgressBar } from "../progress.ts";
import { UsageError } from "../usageError.ts";

const size: OptionSpec<number> = {
  value: "N(M|G)",
  help: "maximum size of the tensors of a part, in units of 1000 as in gguf-split",
  parse(given, name) {
    const match = /^(\d+)(M|G)$/.exec(given);
    const bytes = match === null ? 0 : Number(match[1]) * (match[2] === "M" ? 1e6 : 1e9);
    if (bytes < 1) throw new UsageError(`--${name}: expected a size such as 500M or 2G, got ${given}`);
    return bytes;
  },
};

/** `centella split FILE PREFIX`: splits a file into `PREFIX-00001-of-000NN.gguf`. */
export const split: Command = command({
  name: "split",
  arguments: "FILE PREFIX",
  summary: "split a GGUF file into parts",
  options: {
    "max-size": { ...size, aliases: ["--split-max-size"] },
    "max-tensors": number("N", "maximum number of tensors of a part (default: 128)", {
      min: 1,
      integer: true,
      aliases: ["--split-max-tensors"],
    }),
    "empty-first": flag("put only metadata into the first part", { aliases: ["--no-tensor-first-split"] }),
    json: flag("print one JSON object"),
  },
  async run(values, positionals, context) {
    const { signal, output } = context;
    const [path, prefix] = requireArguments("split", ["FILE", "PREFIX"], positionals);
    const { "max-size": maxBytes, "max-tensors": maxTensors, "empty-first": emptyFirst } = values;
    if (maxBytes !== undefined && maxTensors !== undefined) throw new UsageError("split: expected --max-size or --max-tensors, got both");
    await using file = await openModel(path, context);
    const parts = splitContent(contentOf(file), {
      ...(maxBytes === undefined ? {} : { maxBytes }),
      ...(maxTensors === undefined ? {} : { maxTensors }),
      ...(emptyFirst === undefined ? {} : { emptyFirst }),
    });
    const stem = parseSplitName(prefix)?.prefix ?? prefix.replace(/\.gguf$/, "");
    const written: string[] = [];
    try {
      for (const [i, content] of parts.entries()) {
        const name = splitName({ prefix: stem, number: i + 1, count: parts.length });
        const bar = new ProgressBar(`writing ${i + 1} of ${parts.length}`, output);
        const onProgress = (done: number, total: number): void => bar.update(done, total);
        await writeGguf(name, content, { signal, onProgress }).finally(() => bar.end());
        written.push(name);
      }
    } catch (error) {
      // A part is useless without the remaining parts.
      for (const name of written) await rm(name, { force: true });
      throw error;
    }
    output.print(values.json ? JSON.stringify({ files: written }) : written.join("\n"));
  },
});
