import { GrammarError } from "../errors.ts";
import type { Node } from "./ast.ts";

const maxShown = 40;

/** Throws the error for a part of a valid expression that cannot be enforced. */
export function refuse(construct: string, { start, raw }: Pick<Node, "start" | "raw">): never {
  const shown = raw.length > maxShown ? `${raw.slice(0, maxShown)}…` : raw;
  const message = `fromRegex: expected an expression without ${construct}, got ${shown} at column ${start + 1}`;
  throw new GrammarError("GRAMMAR_UNSUPPORTED", message, { keyword: construct, column: start + 1 });
}
