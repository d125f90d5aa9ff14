import { type Command, command } from "../src/command.ts";
import type { OptionSpecs, OptionValues } from "../src/options.ts";
import { runProgram } from "../src/program.ts";

/** What a command with these options is given for a command line. */
export async function parse<S extends OptionSpecs>(
  options: S,
  ...args: readonly string[]
): Promise<{ readonly values: OptionValues<S>; readonly positionals: readonly string[] }> {
  let parsed: { readonly values: OptionValues<S>; readonly positionals: readonly string[] } | undefined;
  const probe: Command = command({
    name: "probe",
    arguments: "",
    summary: "",
    options,
    async run(values: OptionValues<S>, positionals) {
      parsed = { values, positionals };
    },
  });
  await runProgram([probe], ["probe", ...args], "0.0.0", new AbortController().signal);
  return parsed!;
}
