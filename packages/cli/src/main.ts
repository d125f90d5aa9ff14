import { readFileSync } from "node:fs";
import { getSystemErrorMessage } from "node:util";
import type { Command } from "./command.ts";
import { bench } from "./commands/bench.ts";
import { chat } from "./commands/chat.ts";
import { embed } from "./commands/embed.ts";
import { inspect } from "./commands/inspect.ts";
import { logits } from "./commands/logits.ts";
import { merge } from "./commands/merge.ts";
import { models } from "./commands/models.ts";
import { perplexity } from "./commands/perplexity.ts";
import { pull } from "./commands/pull.ts";
import { quantize } from "./commands/quantize.ts";
import { rm } from "./commands/rm.ts";
import { run } from "./commands/run.ts";
import { split } from "./commands/split.ts";
import { tokenize } from "./commands/tokenize.ts";
import { formatOptions } from "./options.ts";
import { UsageError } from "./usageError.ts";

const commands: Readonly<Record<string, Command>> = {
  run,
  chat,
  embed,
  bench,
  inspect,
  tokenize,
  logits,
  perplexity,
  pull,
  models,
  rm,
  split,
  merge,
  quantize,
};

const exitCode = { failure: 1, usage: 2, interrupted: 130 } as const;

/** Runs one command line; gives the exit code. All that goes wrong is one line on stderr. */
async function main([name, ...args]: readonly string[]): Promise<number> {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  // A reader that closes the pipe early (`| head`) has what it wants.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : exitCode.failure));
  try {
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      console.log(help());
      return name === undefined ? exitCode.usage : 0;
    }
    if (name === "--version" || name === "-v") {
      console.log(version());
      return 0;
    }
    const command = commands[name];
    if (command === undefined) throw new UsageError(`expected a command among ${Object.keys(commands).join(", ")}, got ${name}`);
    if (args.includes("--help") || args.includes("-h")) console.log(commandHelp(command));
    else await command.run(args, interrupt.signal);
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) {
      console.error("\ncentella: interrupted");
      return exitCode.interrupted;
    }
    console.error(`centella: ${messageOf(error).replaceAll("\n", " ")}`);
    if (!(error instanceof UsageError)) return exitCode.failure;
    console.error(`centella: see centella ${name !== undefined && name in commands ? `${name} ` : ""}--help`);
    return exitCode.usage;
  }
}

/** What went wrong, in words: files that Node cannot open too. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errno, path, syscall } = error as NodeJS.ErrnoException;
  if (errno === undefined || path === undefined || syscall === undefined) return error.message;
  return `cannot ${syscall} '${path}': ${getSystemErrorMessage(errno)}; check the path`;
}

function help(): string {
  const width = Math.max(...Object.values(commands).map(({ usage }) => usage.length));
  const rows = Object.values(commands).map(({ usage, summary }) => `  centella ${usage.padEnd(width)}  ${summary}`);
  return `Usage: centella COMMAND [ARGUMENTS]\n\n${rows.join("\n")}\n\ncentella COMMAND --help tells a command's options. CENTELLA_BACKEND forces a backend, as --backend does.`;
}

function commandHelp({ usage, summary, details, options }: Command): string {
  const text = details === undefined ? summary : `${summary}\n${details}`;
  return `Usage: centella ${usage} [OPTIONS]\n\n${text}\n\n${formatOptions(options)}`;
}

function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return manifest.version;
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
