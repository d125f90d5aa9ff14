import { type Command, command, requireArguments } from "../command.ts";
import { flag } from "../options.ts";
import { packageVersion } from "../packageVersion.ts";

/** `centella version` */
export const version: Command = command({
  name: "version",
  arguments: "",
  summary: "print the version",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, { output }) {
    requireArguments("version", [], positionals);
    output.print(values.json ? JSON.stringify({ version: packageVersion(), node: process.versions.node }) : packageVersion());
  },
});
