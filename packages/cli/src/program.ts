import { Command as Commander, CommanderError, Help, Option } from "commander";
import type { Command, Context } from "./command.ts";
import { canonicalArguments, flag, type OptionSpec, type OptionSpecs } from "./options.ts";
import { Output } from "./output.ts";
import { UsageError } from "./usageError.ts";

/** Options of every command. */
const outputOptions: OptionSpecs = {
  quiet: flag("print nothing but the result and errors", { short: "q" }),
  verbose: flag("print statistics even if stderr is not a terminal", { short: "v" }),
};

/** All options of a command. */
export function optionsOf({ options }: Command): OptionSpecs {
  return { ...options, ...outputOptions };
}

/**
 * Parses a command line and runs its command.
 * @throws {UsageError} for a wrong command line, and whatever the command throws
 */
export async function runProgram(
  commands: readonly Command[],
  args: readonly string[],
  version: string,
  signal: AbortSignal,
): Promise<void> {
  const program = new Commander("centella")
    .usage("COMMAND [ARGUMENTS]")
    .helpOption("-h, --help", "show this help, or that of a command")
    .helpCommand("help [command]", "show the help of a command")
    .version(version, "-V, --version", "show the version")
    .addHelpText("after", "\ncentella COMMAND --help lists the options of a command. CENTELLA_BACKEND=NAME is --backend NAME.")
    .configureHelp({ subcommandTerm: (sub) => [sub.name(), ...sub.aliases()].join(", "), showGlobalOptions: false })
    .configureOutput({ writeErr: () => undefined })
    .exitOverride();
  for (const command of commands) addCommand(program, command, signal);
  if (args.length === 0) {
    program.outputHelp();
    throw new UsageError("expected a command, got none");
  }
  try {
    await program.parseAsync([...ownSpelling(commands, args)], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    throw new UsageError(oneLine(error.message));
  }
}

/** Rewrites `help run` and `--help run` to `run --help`, and options of other tools to their names here. */
function ownSpelling(commands: readonly Command[], args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  const [topic] = rest;
  if (topic !== undefined && (first === "help" || first === "--help" || first === "-h"))
    return commandOf(commands, topic) === undefined ? [topic] : [topic, "--help"];
  if (first === "-v") return ["--version"];
  const command = commandOf(commands, first);
  return command === undefined ? args : [command.name, ...canonicalArguments(optionsOf(command), rest, command.refused)];
}

/** The command of this name or alias. */
export function commandOf(commands: readonly Command[], given: string | undefined): Command | undefined {
  return commands.find(({ name, aliases = [] }) => given !== undefined && [name, ...aliases].includes(given));
}

function addCommand(program: Commander, command: Command, signal: AbortSignal): void {
  const specs = optionsOf(command);
  const options = Object.entries(specs).map(([name, spec]) => [name, commanderOption(name, spec)] as const);
  // Spellings of other tools are replaced before parsing. Commander knows them only to suggest them for misspelt options.
  const foreign = Object.values(specs).flatMap(({ aliases = [] }) =>
    aliases.filter((one) => one.startsWith("--")).map((one) => new Option(one)),
  );
  const sub = program
    .command(command.name)
    .aliases([...(command.aliases ?? [])])
    .summary(command.summary)
    .description(command.details === undefined ? command.summary : `${command.summary}\n\n${command.details}`)
    .usage(`${command.arguments} [OPTIONS]`.trimStart())
    .argument("[arguments...]")
    .configureHelp({ visibleArguments: () => [], formatHelp: (shown, helper) => helpWithout(foreign, shown, helper) })
    .helpOption("-h, --help", "show this help")
    .action(async (positionals: readonly string[]) => {
      const values = Object.fromEntries(
        options.flatMap(([name, option]) => {
          if (sub.getOptionValueSource(option.attributeName()) !== "cli") return [];
          return [[name, option.negate ? true : (sub.getOptionValue(option.attributeName()) as unknown)]];
        }),
      );
      const isQuiet = values.quiet === true || (values.json === true && values.verbose !== true);
      const context: Context = {
        signal,
        output: new Output(process.stdout, process.stderr, { quiet: isQuiet, verbose: values.verbose === true }),
      };
      await command.run(values, positionals, context);
    });
  for (const option of [...options.map(([, own]) => own), ...foreign]) sub.addOption(option);
}

/** Formats the help without hidden options. Other spellings are listed with the option that they mean. */
function helpWithout(hidden: readonly Option[], command: Commander, helper: Help): string {
  const all = helper.visibleOptions.bind(helper);
  helper.visibleOptions = (shown) => all(shown).filter((option) => !hidden.includes(option));
  return Help.prototype.formatHelp.call(helper, command, helper);
}

function commanderOption(name: string, { short, aliases, value, help, group, isRepeated, parse }: OptionSpec<unknown>): Option {
  const flags = `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;
  const option = new Option(flags, aliases === undefined ? help : `${help} (also ${aliases.join(", ")})`);
  if (group !== undefined) option.helpGroup(`${group}:`);
  if (value === undefined) return option;
  return option.argParser((given: string, previous: unknown) => {
    const parsed = parse(given, name);
    return isRepeated === true && Array.isArray(previous) ? [...previous, ...(parsed as readonly unknown[])] : parsed;
  });
}

/** Commander's "error: unknown option '--temprature'\n(Did you mean --temperature?)" as one line. */
function oneLine(message: string): string {
  return message.replace(/^error: /, "").replaceAll("\n", " ");
}
