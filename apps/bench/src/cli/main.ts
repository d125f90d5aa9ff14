import { UsageError } from "../usageError.ts";
import { benchCommand, loadProcessCommand } from "./bench.ts";
import { budgetsCommand } from "./budgets.ts";
import { calibrateCommand } from "./calibrate.ts";
import { checkCommand, docsCommand } from "./docs.ts";
import { modelCommand } from "./model.ts";
import { peersCommand } from "./peers.ts";
import { reportCommand } from "./report.ts";

/** What a command does with its arguments; gives the exit code. */
type Command = (args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  model: modelCommand,
  peers: peersCommand,
  calibrate: calibrateCommand,
  docs: docsCommand,
  report: reportCommand,
  check: checkCommand,
  budgets: (args) => budgetsCommand(args),
  "load-process": loadProcessCommand,
};

/** Runs one command line. 0 is success, 1 a failure or a wrong result, 2 a wrong command line. */
export async function main(args: readonly string[]): Promise<number> {
  const [name = "", ...rest] = args;
  try {
    return Object.hasOwn(commands, name) ? await commands[name]!(rest) : await benchCommand(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}; see pnpm bench --help`);
    return 2;
  }
}
