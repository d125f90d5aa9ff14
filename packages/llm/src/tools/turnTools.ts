import type { Grammar } from "@centella/grammar";
import type { ChatTemplate } from "../chat/chatTemplate.ts";
import type { ChatMessage } from "../chat/messages.ts";
import type { Markup } from "../format/markup.ts";
import { argumentFamily } from "./arguments/argumentFamilies.ts";
import type { ArgumentFamily } from "./arguments/argumentFamily.ts";
import type { ArgumentSchema } from "./arguments/argumentReader.ts";
import { CallCollector } from "./callCollector.ts";
import { type CallGrammar, callGrammar } from "./callGrammar.ts";
import { CallParser } from "./callParser.ts";
import { findFormat, givenFormat } from "./formats/findFormat.ts";
import type { ToolFormatName } from "./formats/namedFormats.ts";
import type { ToolFormat } from "./formats/toolFormat.ts";
import { harmonyGrammar } from "./harmonyGrammar.ts";
import { type ToolOptions, type ToolUse, toolUse } from "./tools.ts";

/** The tools of one turn in the format of a model. */
export class TurnTools {
  readonly format: ToolFormat;
  readonly use: ToolUse;
  readonly #family: ArgumentFamily;

  private constructor(format: ToolFormat, use: ToolUse, family: ArgumentFamily) {
    this.format = format;
    this.use = use;
    this.#family = family;
  }

  /** Loads the code for the arguments of the format. */
  static async open(use: ToolUse, format: ToolFormat): Promise<TurnTools> {
    return new TurnTools(format, use, await argumentFamily(format.arguments));
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
    return grammarOf({ format: this.format, family: this.#family, use: this.use, answer, markup, signal });
  }

  /** Finds the calls of one answer. @param messages the conversation so far, whose calls have other ids */
  collector(messages: readonly ChatMessage[]): CallCollector {
    const schemas = new Map(this.use.all.map(({ name, inputSchema }): [string, ArgumentSchema] => [name, inputSchema]));
    const parser = new CallParser(this.format, { family: this.#family, schemas });
    const earlier = messages.reduce((sum, { tool_calls: calls }) => sum + (Array.isArray(calls) ? calls.length : 0), 0);
    return new CallCollector(parser, { markup: this.markup, earlier });
  }
}

/**
 * Checks the options for tools and finds the format of their calls.
 * @param given the format, or its name, in place of the one that is found for the template
 * @throws {ArgumentError}
 */
export async function openTools(
  options: ToolOptions,
  template: ChatTemplate,
  given: ToolFormat | ToolFormatName | undefined,
): Promise<TurnTools | undefined> {
  const use = toolUse(options);
  if (use.all.length === 0) return undefined;
  const format = given === undefined ? findFormat(template) : givenFormat(template, given);
  return TurnTools.open(use, format);
}
