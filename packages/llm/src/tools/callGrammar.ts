import {
  and,
  anyText,
  bytes,
  choice,
  combine,
  type Expression,
  empty,
  fromRegex,
  type Grammar,
  not,
  optional,
  reference,
  repeat,
  sequence,
  text,
} from "@centella/grammar";
import { anySpace, type Markup, textWithout, whiteSpace } from "../format/markup.ts";
import type { ArgumentFamily, ArgumentGrammar } from "./arguments/argumentFamily.ts";
import { type ObjectSchema, schemaOf } from "./arguments/schemaParts.ts";
import type { Pieces, Slot, ToolFormat } from "./formats/toolFormat.ts";
import type { ToolUse } from "./tools.ts";

/** What the grammar of an answer with calls is made from. */
export interface CallGrammarContext {
  readonly format: ToolFormat;
  readonly family: ArgumentFamily;
  readonly use: ToolUse;
  /** What an answer without calls must match. Undefined: any text. */
  readonly answer: Grammar | undefined;
  readonly markup: Markup;
  readonly signal: AbortSignal | undefined;
}

/** A grammar, with sentences on what it does not enforce. */
export interface CallGrammar {
  readonly grammar: Grammar;
  readonly warnings: readonly string[];
}

/**
 * The grammar of answers that may call tools.
 * @throws {GrammarError | UnsupportedError} if arguments cannot be enforced
 */
export function callGrammar(context: CallGrammarContext): CallGrammar {
  const { format, use, answer, markup } = context;
  const { grammar: calls, warnings } = oneCall(context);
  const grammar = combine<string>({ calls, ...(answer && { answer }) }, (parts) => {
    const turn = turnOf(format, use, parts.calls as Expression, markup);
    return use.isRequired ? sequence([beginning(format, markup), turn]) : withAnswer(context, turn, parts.answer);
  });
  return { grammar, warnings };
}

/** A tool that may be called, and the grammar of its arguments. */
export interface ConstrainedTool extends ArgumentGrammar {
  readonly name: string;
}

/** The tools that may be called. @throws {GrammarError | UnsupportedError} if arguments cannot be enforced */
export function constrainedTools({ family, use, markup, signal }: CallGrammarContext): readonly ConstrainedTool[] {
  return use.callable.map(({ name, inputSchema }) => {
    const schema: ObjectSchema = schemaOf(name, use.isStrict ? inputSchema : undefined);
    return { name, ...family.grammar(name, schema, { markup, signal }) };
  });
}

/** One call of any of the tools, as a rule. */
function oneCall(context: CallGrammarContext): CallGrammar {
  const { format, markup } = context;
  const tools = constrainedTools(context);
  const grammars = Object.fromEntries(tools.map(({ grammar }, i) => [`tool${i}`, grammar]));
  const { start, rules } = combine(grammars, (parts) =>
    choice(tools.map(({ name }, i) => sequence(piecesOf(format.call, { format, markup, name, args: parts[`tool${i}`] })))),
  );
  return { grammar: { start: reference("call"), rules: { ...rules, call: start } }, warnings: tools.flatMap(({ warnings }) => warnings) };
}

interface PieceContext {
  readonly format: ToolFormat;
  readonly markup: Markup;
  readonly name?: string;
  readonly args?: Expression | undefined;
}

/** Texts and slots as expressions. */
function piecesOf(pieces: Pieces, context: PieceContext): Expression[] {
  return pieces.map((piece) => (typeof piece === "string" ? context.markup.item(piece) : slotOf(piece, context)));
}

function slotOf({ slot }: Slot, { format, name = "", args = empty }: PieceContext): Expression {
  switch (slot) {
    case "name":
      return text(name);
    case "id":
      return fromRegex(format.id).start;
    case "index":
      return repeat(bytes([[0x30, 0x39]]), 1, 3);
    case "arguments":
      return args;
  }
}

/** All calls of a turn. */
function turnOf(format: ToolFormat, { isParallel }: ToolUse, call: Expression, markup: Markup): Expression {
  const { before, between, after } = format;
  const more = between !== undefined && isParallel ? [repeat(sequence([...piecesOf(between, { format, markup }), call]), 0, Infinity)] : [];
  return sequence([...piecesOf(before, { format, markup }), call, ...more, markup.item(after, true)]);
}

/** What may precede calls at the beginning of an answer. */
function beginning({ prefix }: ToolFormat, markup: Markup): Expression {
  return sequence([whiteSpace, ...(prefix === undefined ? [] : [optional(markup.item(prefix))])]);
}

/** An answer without calls, or calls, which text may precede unless the answer must match a grammar. */
function withAnswer({ format, markup }: CallGrammarContext, turn: Expression, answer: Expression | undefined): Expression {
  const { trigger, isTriggerAtStart, opened, prefix } = format;
  const mark = format.answer === undefined ? empty : sequence([whiteSpace, markup.item(format.answer)]);
  const marked = opened === undefined ? optional(mark) : mark;
  const calls = sequence([beginning(format, markup), turn]);
  if (answer !== undefined) return choice([calls, sequence([marked, answer])]);
  if (!isTriggerAtStart) {
    const free = textWithout(trigger);
    return choice([sequence([marked, free, optional(turn)]), calls]);
  }
  const begins = choice([trigger, ...(prefix === undefined ? [] : [prefix])].map((begin) => text(begin)));
  const free = and([anyText, not(sequence([anySpace, begins, anyText]))]);
  return choice([sequence([marked, free]), calls]);
}
