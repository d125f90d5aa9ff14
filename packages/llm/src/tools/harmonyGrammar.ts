import { anyText, choice, combine, type Expression, optional, sequence, text } from "@centella/grammar";
import type { Markup } from "../format/markup.ts";
import { type CallGrammar, type CallGrammarContext, constrainedTools } from "./callGrammar.ts";

/**
 * The grammar of the last message of an answer in the Harmony format: the answer in the channel "final", or a call in "commentary". The
 * recipient of a call is written before or after the channel.
 * @throws {GrammarError | UnsupportedError} if arguments cannot be enforced
 */
export function harmonyGrammar(context: CallGrammarContext): CallGrammar {
  const { use, answer, markup } = context;
  const tools = constrainedTools(context);
  const named = Object.fromEntries(tools.map(({ grammar }, i) => [`tool${i}`, grammar]));
  const grammar = combine<string>({ ...named, ...(answer && { answer }) }, (parts) => {
    const calls = tools.flatMap(({ name }, i) => callsOf(name, parts[`tool${i}`] as Expression, markup));
    const final = sequence([
      markup.item("<|channel|>final"),
      optional(constraintOf(markup)),
      markup.item("<|message|>"),
      parts.answer ?? anyText,
    ]);
    return choice(use.isRequired ? calls : [final, ...calls]);
  });
  return { grammar, warnings: tools.flatMap(({ warnings }) => warnings) };
}

function callsOf(name: string, args: Expression, markup: Markup): readonly Expression[] {
  const recipient = text(` to=functions.${name}`);
  const channel = markup.item("<|channel|>commentary");
  const json = optional(choice([constraintOf(markup), text(" json")]));
  const message = sequence([json, markup.item("<|message|>"), args, markup.item("<|call|>", true)]);
  return [sequence([recipient, channel, message]), sequence([channel, recipient, message])];
}

function constraintOf(markup: Markup): Expression {
  return sequence([" ", markup.item("<|constrain|>json")]);
}
