import { formatInspect, inspect as inspectFile } from "@centella/gguf";
import type { Command } from "../command.ts";
import { openModel } from "../modelFile.ts";
import { flag, parseOptions } from "../options.ts";
import { UsageError } from "../usageError.ts";

const options = { json: flag("print one JSON object") };

/** `centella inspect FILE`: header, metadata and tensors of a GGUF file, without reading its weights; of a URL only the header is fetched. */
export const inspect: Command = {
  usage: "inspect FILE",
  summary: "print a GGUF file's metadata and tensors",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, ...rest] = positionals;
    if (path === undefined || rest.length > 0) throw new UsageError(`inspect: expected one FILE, got ${positionals.length}`);
    await using file = await openModel(path, signal);
    const report = inspectFile(file);
    console.log(values.json ? JSON.stringify(report, null, 2) : formatInspect(report));
  },
};
