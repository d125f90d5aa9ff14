import type { Command } from "./command.ts";
import { Output } from "./output.ts";
import { packageVersion } from "./packageVersion.ts";
import { commandOf, runProgram } from "./program.ts";

const exitCode = { failure: 1, usage: 2 } as const;
/** Exit codes of a command that was ended from outside: 128 plus a signal's number, as in shells, and 0 where nothing reads the result. */
const endCodes = { SIGINT: 130, SIGTERM: 143, stdout: 0 } as const;
type End = keyof typeof endCodes;

/** Returns the commands that a command line may name, and loads their code. */
export type LoadCommands = (args: readonly string[]) => Promise<readonly Command[]>;

/** Runs one command line and returns the exit code. A failure is one line on stderr. */
async function runCommandLine(args: readonly string[], loadCommands: LoadCommands): Promise<number> {
  const output = new Output(process.stdout, process.stderr, { quiet: false, verbose: false });
  const interrupt = new AbortController();
  let endedBy: End | undefined;
  // The command then ends by itself, so that it can remove its temporary files.
  const end = (by: End): void => {
    endedBy ??= by;
    interrupt.abort();
  };
  // Once: a second signal ends the process at once.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => end(name));
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that closes the pipe early (`| head`) has read all it wants.
    if (error.code !== "EPIPE") {
      output.error(`centella: cannot write to stdout: ${error.message}`);
      process.exitCode = exitCode.failure;
    }
    end("stdout");
  });
  // No reader is left that could be told.
  process.stderr.on("error", () => undefined);
  const commands = await loadCommands(args);
  try {
    await runProgram(commands, args, packageVersion(), interrupt.signal);
    return 0;
  } catch (error) {
    if (endedBy !== undefined) {
      if (endedBy !== "stdout") output.error("\ncentella: interrupted");
      return endCodes[endedBy];
    }
    // Its error types are in every package, which commands such as --version do not load.
    const { isUsage, messageOf } = await import("./failure.ts");
    output.error(`centella: ${messageOf(error)}`);
    if (!isUsage(error)) return exitCode.failure;
    const name = commandOf(commands, args[0])?.name;
    output.error(`centella: see centella ${name === undefined ? "" : `${name} `}--help`);
    return exitCode.usage;
  }
}

/** Runs the command line of this process, and ends the process with its exit code. */
export async function main(loadCommands: LoadCommands): Promise<void> {
  // A failure of stdout is already set.
  process.exitCode ??= await runCommandLine(process.argv.slice(2), loadCommands);
  // Freeing everything first would take 10 ms. What was written before is out when this write is.
  process.stderr.write("", () => process.stdout.write("", () => process.exit()));
}
