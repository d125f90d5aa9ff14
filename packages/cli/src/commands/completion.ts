import { type Command, command, requireArguments } from "../command.ts";
import { completionScript, shells } from "../completion.ts";
import { UsageError } from "../usageError.ts";

/** `centella completion SHELL`; `commands` are those that the script completes. */
export const completion = (commands: () => readonly Command[]): Command =>
  command({
    name: "completion",
    arguments: shells.join("|"),
    summary: "print a completion script for a shell",
    details: "The first lines of the script say where it belongs.",
    options: {},
    async run(_values, positionals, { output }) {
      const [given] = requireArguments("completion", ["SHELL"], positionals);
      const shell = shells.find((one) => one === given);
      if (shell === undefined) throw new UsageError(`completion: expected one of ${shells.join(", ")}, got ${given}`);
      output.write(completionScript(shell, commands()));
    },
  });
