import { defaultStorage, listModels } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { flag } from "../options.ts";
import { formatSize } from "../progress.ts";

/** `centella models`: lists the pulled models. */
export const models: Command = command({
  name: "models",
  aliases: ["list", "ls"],
  arguments: "",
  summary: "list the pulled models",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, { output }) {
    requireArguments("models", [], positionals);
    const storage = await defaultStorage();
    const stored = await listModels(storage);
    if (values.json) output.print(JSON.stringify({ location: storage.location, models: stored }));
    else if (stored.length === 0) output.print(`no models in ${storage.location}; see centella pull --help`);
    else output.print(stored.map(({ name, source, bytes }) => `${formatSize(bytes).padStart(8)}  ${source}  (${name})`).join("\n"));
  },
});
