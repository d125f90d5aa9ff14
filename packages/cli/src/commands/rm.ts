import { defaultStorage, removeModel } from "@centella/gguf";
import type { Command } from "../command.ts";
import { flag, parseOptions } from "../options.ts";
import { formatSize } from "../progress.ts";
import { UsageError } from "../usageError.ts";

const options = { json: flag("print one JSON object") };

/** `centella rm MODEL`: removes a model that has been pulled. */
export const rm: Command = {
  usage: "rm MODEL",
  summary: "remove a model that has been pulled, by its name or what it was pulled by",
  options,
  async run(args) {
    const { values, positionals } = parseOptions(options, args);
    const [source, ...rest] = positionals;
    if (source === undefined || rest.length > 0) throw new UsageError(`rm: expected one MODEL, got ${positionals.length}`);
    const removed = await removeModel(await defaultStorage(), source);
    console.log(values.json ? JSON.stringify(removed) : `removed ${removed.name}, ${formatSize(removed.bytes)}`);
  },
};
