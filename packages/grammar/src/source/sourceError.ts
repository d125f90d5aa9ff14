import { GrammarError, type GrammarErrorCode } from "../errors.ts";

/** Line and column of an index in a text, both from 1. Columns count UTF-16 units. */
export function placeOf(text: string, index: number): { line: number; column: number } {
  const before = text.slice(0, index).split(/\r\n|[\r\n]/);
  return { line: before.length, column: (before.at(-1) as string).length + 1 };
}

/** What an error says besides the problem and where it is. */
export type ErrorDetails = { keyword?: string; pointer?: string; reason?: string; advice?: string };

/** An error in a text that a caller passed: `problem at line L, column C; advice`. */
export function sourceError(
  code: GrammarErrorCode,
  problem: string,
  { text, index, advice, ...details }: ErrorDetails & { text: string; index: number },
): GrammarError {
  const place = placeOf(text, index);
  const message = `${problem} at line ${place.line}, column ${place.column}${advice === undefined ? "" : `; ${advice}`}`;
  return new GrammarError(code, message, { ...place, ...details });
}

const maxShown = 40;

/** The beginning of a piece of source text, quoted for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text);
}
