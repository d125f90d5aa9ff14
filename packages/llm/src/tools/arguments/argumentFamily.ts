import type { Grammar } from "@centella/grammar";
import type { Markup } from "../../format/markup.ts";
import type { ArgumentReader, ArgumentSchema } from "./argumentReader.ts";
import type { ObjectSchema } from "./schemaParts.ts";

/** How arguments of one syntax are read and constrained. */
export interface ArgumentFamily {
  createReader(schema: ArgumentSchema): ArgumentReader;
  /**
   * The grammar of the arguments of the tool `name`, with sentences on what it does not enforce.
   * @throws {GrammarError | UnsupportedError} if the schema cannot be enforced
   */
  grammar(name: string, schema: ObjectSchema, context: ArgumentContext): ArgumentGrammar;
}

/** What grammars of arguments are made with. */
export interface ArgumentContext {
  readonly markup: Markup;
  readonly signal: AbortSignal | undefined;
}

/** The grammar of a tool's arguments, with sentences on what it does not enforce. */
export interface ArgumentGrammar {
  readonly grammar: Grammar;
  readonly warnings: readonly string[];
}
