import { defaultStorage, removeModel } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { flag } from "../options.ts";
import { formatSize } from "../progress.ts";

/** `centella rm MODEL`: removes a pulled model. */
export const rm: Command = command({
  name: "rm",
  aliases: ["remove"],
  arguments: "MODEL",
  summary: "remove a pulled model, given its name or the reference it was pulled by",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, { output }) {
    const [source] = requireArguments("rm", ["MODEL"], positionals);
    const removed = await removeModel(await defaultStorage(), source);
    output.print(values.json ? JSON.stringify(removed) : `removed ${removed.name}, ${formatSize(removed.bytes)}`);
  },
});
