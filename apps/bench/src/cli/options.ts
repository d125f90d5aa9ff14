import { type ParseArgsConfig, parseArgs } from "node:util";
import { elementAt } from "@centella/quant/checks";

import { UsageError } from "../usageError.ts";

/** Splits a command's arguments. @throws {UsageError} for an unknown option or a missing value */
export function parse<T extends NonNullable<ParseArgsConfig["options"]>>(
  args: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? elementAt(error.message.split(". To specify"), 0) : String(error));
  }
}

/** The given names, split at commas. @throws {UsageError} for one that is not among `known` */
export function pick<T extends string>(option: string, given: readonly string[], known: readonly T[]): readonly T[] {
  return given
    .flatMap((text) => text.split(","))
    .map((text) => {
      const name = known.find((each) => each === text);
      if (name === undefined) throw new UsageError(`${option}: expected one of ${known.join(", ")}, got ${text}`);
      return name;
    });
}

/** @throws {UsageError} unless `text` is a whole number from `min` to `max` */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw new UsageError(`${option}: expected a whole number from ${min} to ${max}, got ${text}`);
  return value;
}

/** @throws {UsageError} if there are arguments besides the options */
export function noPositionals(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageError(`expected options alone, got ${positionals[0]}`);
}
