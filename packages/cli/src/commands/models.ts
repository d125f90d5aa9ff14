import { defaultStorage, listModels } from "@centella/gguf";
import type { Command } from "../command.ts";
import { flag, parseOptions } from "../options.ts";
import { formatSize } from "../progress.ts";
import { UsageError } from "../usageError.ts";

const options = { json: flag("print one JSON object") };

/** `centella models`: the models that have been pulled. */
export const models: Command = {
  usage: "models",
  summary: "list the models that have been pulled",
  options,
  async run(args) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 0) throw new UsageError(`models: expected no arguments, got ${positionals.length}`);
    const storage = await defaultStorage();
    const stored = await listModels(storage);
    if (values.json) console.log(JSON.stringify({ location: storage.location, models: stored }));
    else if (stored.length === 0) console.log(`no models in ${storage.location}; see centella pull --help`);
    else console.log(stored.map(({ name, source, bytes }) => `${formatSize(bytes).padStart(8)}  ${source}  (${name})`).join("\n"));
  },
};
