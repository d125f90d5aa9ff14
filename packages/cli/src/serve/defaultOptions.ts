import type { AnswerDefaults } from "@centella/server";
import { numberOptions, readNumbers } from "../generateOptions.ts";
import { choice, grouped, number, type OptionSpec, type OptionValues } from "../options.ts";

/** Options of the answers to requests that do not set them. */
export const defaultOptions: typeof numberOptions & {
  readonly tokens: OptionSpec<number>;
  readonly mirostat: OptionSpec<"0" | "1" | "2">;
} = grouped("Defaults of requests", {
  tokens: number("N", "maximum number of tokens, -1 for no limit", { short: "n", aliases: ["--n-predict", "--predict"] }),
  mirostat: choice(["0", "1", "2"], "version of Mirostat, 0 is off (default: 0)"),
  ...numberOptions,
});

/** Returns the given options as defaults of a handler. */
export function readDefaults(values: OptionValues<typeof defaultOptions>): AnswerDefaults {
  const { tokens = -1, mirostat } = values;
  const { dryBreakers: _, ...numbers } = readNumbers(values);
  return {
    ...numbers,
    ...(tokens > 0 && { maxTokens: tokens }),
    ...(mirostat !== undefined && { mirostat: Number(mirostat) as 0 | 1 | 2 }),
  };
}
