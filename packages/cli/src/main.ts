import { commands } from "./commands/index.ts";
import { packageVersion } from "./commands/version.ts";
import { isUsage, messageOf } from "./failure.ts";
import { Output } from "./output.ts";
import { commandOf, runProgram } from "./program.ts";

const exitCode = { failure: 1, usage: 2 } as const;
/** Exit codes after signals that end a command, as shells count them. */
const signalCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Runs one command line and returns the exit code. A failure is one line on stderr. */
async function main(args: readonly string[]): Promise<number> {
  const interrupt = new AbortController();
  let endedBy: keyof typeof signalCodes | undefined;
  for (const name of Object.keys(signalCodes) as (keyof typeof signalCodes)[]) {
    // Once: a second signal ends the process at once.
    process.once(name, () => {
      endedBy = name;
      interrupt.abort();
    });
  }
  // A reader that closes the pipe early (`| head`) has all it wants.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : exitCode.failure));
  const output = new Output(process.stdout, process.stderr, { quiet: false, verbose: false });
  try {
    await runProgram(commands, args, packageVersion(), interrupt.signal);
    return 0;
  } catch (error) {
    if (endedBy !== undefined) {
      output.error("\ncentella: interrupted");
      return signalCodes[endedBy];
    }
    output.error(`centella: ${messageOf(error)}`);
    if (!isUsage(error)) return exitCode.failure;
    const name = commandOf(commands, args[0])?.name;
    output.error(`centella: see centella ${name === undefined ? "" : `${name} `}--help`);
    return exitCode.usage;
  }
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
