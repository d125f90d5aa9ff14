import { rm } from "node:fs/promises";
import { contentOf, parseSplitName, splitContent, splitName, writeGguf } from "@centella/gguf";
import type { Command } from "../command.ts";
import { writeFile } from "../fileSink.ts";
import { openModel } from "../modelFile.ts";
import { flag, number, type OptionSpec, parseOptions } from "../options.ts";
import { ProgressBar } from "../progress.ts";
import { UsageError } from "../usageError.ts";

const units: Readonly<Record<string, number>> = { M: 1e6, G: 1e9 };
const size: OptionSpec<number> = {
  value: "N(M|G)",
  help: "bytes of tensors of a part at most, in units of 1000 as gguf-split counts",
  parse(given, name) {
    const match = /^(\d+)([MG])$/.exec(given);
    const bytes = match === null ? 0 : Number(match[1]) * units[match[2]!]!;
    if (bytes < 1) throw new UsageError(`--${name}: expected a size such as 500M or 2G, got ${given}`);
    return bytes;
  },
};

const options = {
  "max-size": size,
  "max-tensors": number("N", "tensors of a part at most (default: 128)", { min: 1, integer: true }),
  "empty-first": flag("the first part has the metadata alone"),
  json: flag("print one JSON object"),
};

/** `centella split FILE PREFIX`: the parts of a file, `PREFIX-00001-of-000NN.gguf`. */
export const split: Command = {
  usage: "split FILE PREFIX",
  summary: "split a GGUF file into parts",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, prefix, ...rest] = positionals;
    if (path === undefined || prefix === undefined || rest.length > 0)
      throw new UsageError(`split: expected FILE and PREFIX, got ${positionals.length} arguments`);
    const { "max-size": maxBytes, "max-tensors": maxTensors, "empty-first": emptyFirst } = values;
    if (maxBytes !== undefined && maxTensors !== undefined) throw new UsageError("split: expected --max-size or --max-tensors, got both");
    await using file = await openModel(path, signal);
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
        const bar = new ProgressBar(`${i + 1}/${parts.length}`, { isQuiet: values.json === true });
        await writeFile(name, (sink) => writeGguf(sink, content, { signal, onProgress: (done, total) => bar.update(done, total) }));
        bar.end();
        written.push(name);
      }
    } catch (error) {
      // Some parts without the others are of no use.
      for (const name of written) await rm(name, { force: true });
      throw error;
    }
    console.log(values.json ? JSON.stringify({ files: written }) : written.join("\n"));
  },
};
