import { type Command, command, requireArguments } from "../command.ts";
import { completionScript, shells } from "../completion.ts";
import { UsageError } from "../usageError.ts";

/** `centella completion SHELL`: a script that completes the commands that `load` returns. */
export const completion = (load: () => Promise<readonly Command[]>): Command =>
  command({
    name: "completion",
    arguments: shells.join("|"),
    summary: "print a completion script for a shell",
    details: "A comment at the start of the script says how to install it.",
    options: {},
    async run(_values, positionals, { output }) {
      const [given] = requireArguments("completion", ["SHELL"], positionals);
      const shell = shells.find((one) => one === given);
      if (shell === undefined) throw new UsageError(`completion: expected one of ${shells.join(", ")}, got ${given}`);
      output.write(completionScript(shell, await load()));
    },
  });
