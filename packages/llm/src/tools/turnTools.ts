import type { Grammar } from "@centella/grammar";
import type { ChatTemplate } from "../chat/chatTemplate.ts";
import type { Markup } from "../format/markup.ts";
import type { ArgumentReaders, ArgumentSchema } from "./argumentReader.ts";
import { argumentReaders } from "./argumentReaders.ts";
import { type CallGrammar, callGrammar } from "./callGrammar.ts";
import { CallParser } from "./callParser.ts";
import { findFormat } from "./findFormat.ts";
import { harmonyGrammar } from "./harmonyGrammar.ts";
import type { ToolFormat } from "./toolFormat.ts";
import type { ToolUse } from "./tools.ts";

/** The tools of one turn in the format of a model. */
export class TurnTools {
  readonly format: ToolFormat;
  readonly use: ToolUse;
  readonly #readers: ArgumentReaders;

  private constructor(format: ToolFormat, use: ToolUse, readers: ArgumentReaders) {
    this.format = format;
    this.use = use;
    this.#readers = readers;
  }

  /** @param given the format, in place of the one that is found for the template */
  static async open(use: ToolUse, template: ChatTemplate, given: ToolFormat | undefined): Promise<TurnTools> {
    const format = given ?? findFormat(template);
    return new TurnTools(format, use, await argumentReaders(format.arguments));
  }

  /** Markup that must be visible in the generated text. */
  get markup(): readonly string[] {
    const { before, call, between = [], after, prefix = "", answer = "", arguments: syntax } = this.format;
    const pieces = [...before, ...call, ...between].filter((piece) => typeof piece === "string");
    const tagged = syntax.kind === "tagged" ? [syntax.first, ...Object.values(syntax.open), syntax.close, syntax.next] : [];
    const quotes = syntax.kind === "notation" && syntax.notation === "gemma" ? ['<|"|>'] : [];
    return [...pieces, after, prefix, answer, ...tagged, ...quotes].filter((text) => text !== "");
  }

  /** The grammar of answers that may call the tools. @param answer what an answer without calls must match */
  grammar(answer: Grammar | undefined, markup: Markup, signal: AbortSignal | undefined): CallGrammar {
    const grammarOf = this.format.name === "harmony" ? harmonyGrammar : callGrammar;
    return grammarOf({ format: this.format, use: this.use, answer, markup, signal });
  }

  createParser(): CallParser {
    const schemas = new Map(this.use.all.map(({ name, inputSchema }): [string, ArgumentSchema] => [name, inputSchema]));
    return new CallParser(this.format, { readers: this.#readers, schemas });
  }
}
