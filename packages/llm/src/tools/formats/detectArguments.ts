import { elementAt } from "@centella/quant/checks";
import { keys, type ProbeStyle, probeCall, type TemplateProbe } from "./probe.ts";
import type { ArgumentSyntax, ValueType } from "./toolFormat.ts";

/** Where the arguments of a call are in a text, and how the first two are written unless they are JSON. */
export interface FoundArguments {
  readonly start: number;
  readonly end: number;
  /** Most characters of white space in one place of JSON. */
  readonly maxSpace: number;
  readonly tagged?: { readonly first: string; readonly open: string; readonly between: string };
}

/** Finds the arguments in the text after a call's name. */
export function findArguments(text: string, args: Readonly<Record<string, unknown>>): FoundArguments | undefined {
  return findJson(text, args) ?? findTagged(text, args);
}

function findJson(text: string, args: Readonly<Record<string, unknown>>): FoundArguments | undefined {
  const wanted = JSON.stringify(args);
  for (let start = text.indexOf("{"); start >= 0; start = text.indexOf("{", start + 1)) {
    for (let end = text.indexOf("}", start) + 1; end > 0; end = text.indexOf("}", end) + 1) {
      if (sameJson(text.slice(start, end), wanted)) return { start, end, maxSpace: maxSpaceOf(text.slice(start, end)) };
    }
  }
  return undefined;
}

function maxSpaceOf(json: string): number {
  return Math.max(1, ...(json.match(/\s+/g) ?? []).map(({ length }) => length)) > 1 ? indentation : 1;
}

/** White space that templates which indent JSON may write in one place: a line feed, and several levels. */
const indentation = 20;

function sameJson(text: string, wanted: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === wanted;
  } catch {
    return false;
  }
}

function findTagged(text: string, args: Readonly<Record<string, unknown>>): FoundArguments | undefined {
  const cuts: { readonly start: number; readonly end: number }[] = [];
  let from = 0;
  for (const [key, value] of Object.entries(args)) {
    for (const part of [key, String(value)]) {
      const start = text.indexOf(part, from);
      if (start < 0) return undefined;
      cuts.push({ start, end: start + part.length });
      from = start + part.length;
    }
  }
  const gap = (i: number): string => text.slice(elementAt(cuts, i).end, elementAt(cuts, i + 1).start);
  return { start: 0, end: from, maxSpace: 1, tagged: { first: text.slice(0, elementAt(cuts, 0).start), open: gap(0), between: gap(1) } };
}

interface SyntaxContext {
  readonly probe: TemplateProbe;
  readonly style: ProbeStyle;
  /** Text after the arguments, up to the end of the turn. */
  readonly rest: string;
}

/** The syntax of arguments, and the beginning of the text after them that is part of it. */
export interface FoundSyntax {
  readonly arguments: ArgumentSyntax;
  readonly trim: string;
  /** Length of the text before the first argument that a call without arguments has as well. */
  readonly lead: number;
}

const quotes: readonly (readonly [quote: string, notation: "python" | "gemma"])[] = [
  ["'", "python"],
  ['"', "python"],
  ['<|"|>', "gemma"],
];

export function syntaxOf({ tagged, maxSpace }: FoundArguments, context: SyntaxContext): FoundSyntax | undefined {
  if (tagged === undefined) return { arguments: { kind: "json", maxSpace }, trim: "", lead: 0 };
  const { first, open, between } = tagged;
  const { rest } = context;
  const quoted = quotes.find(([quote]) => open.endsWith(quote) && between.startsWith(quote) && rest.startsWith(quote));
  if (quoted !== undefined) {
    const [quote, notation] = quoted;
    const assign = open.slice(0, -quote.length);
    const comma = between.slice(quote.length);
    const end = rest.slice(quote.length, quote.length + 1);
    return { arguments: { kind: "notation", assign, comma, end, notation }, trim: quote + end, lead: first.length };
  }
  return taggedSyntax(tagged, context);
}

function taggedSyntax({ first, open, between }: NonNullable<FoundArguments["tagged"]>, context: SyntaxContext): FoundSyntax | undefined {
  const { rest } = context;
  // Where the name is repeated after the value, both texts contain one, with different names.
  const named = between.indexOf(keys[0]);
  const closeBefore = named >= 0 ? between.slice(0, named) : undefined;
  const [a, b, skipped] =
    closeBefore === undefined
      ? [between, rest, 0]
      : [between.slice(named + keys[0].length), rest.slice(named + keys[2].length), named + keys[2].length];
  const close = wholeTags(commonPrefix(a, b)).trimEnd();
  if (close === "" || !(closeBefore ?? close).includes("<")) return undefined;
  const ending = (closeBefore ?? "") + close;
  const opens = Object.fromEntries(
    Object.entries(samples).map(([type, sample]) => [type, openOf(context, sample, closeBefore ?? ending) ?? open]),
  );
  const lead = wholeTags(commonPrefix(first, emptyCall(context))).trimEnd().length;
  return {
    lead,
    arguments: {
      kind: "tagged",
      first: first.slice(lead),
      open: opens as Record<ValueType, string>,
      close,
      next: a.slice(close.length),
      ...(closeBefore !== undefined && { closeBefore }),
      isPython: writesPython(context),
      hasCdata: valueText(context, "a<b").includes("<![CDATA["),
    },
    trim: rest.slice(0, skipped + close.length),
  };
}

/** Values of each type, with the texts that they may be written as. */
const samples: Readonly<Record<ValueType, readonly [value: unknown, texts: readonly string[]]>> = {
  string: ["ripeq", ["ripeq"]],
  number: [918273, ["918273"]],
  boolean: [true, ["true", "True"]],
  null: [null, ["null", "None"]],
  array: [[918273], ["[918273]"]],
  object: [{ fig: 918273 }, ['{"fig": 918273}', '{"fig":918273}', "{'fig': 918273}"]],
};

/** Text between the name of an argument and its value. */
function openOf(context: SyntaxContext, [value, texts]: readonly [unknown, readonly string[]], close: string): string | undefined {
  const text = valueText(context, value);
  const [whole = ""] = text.split(close);
  const found = texts.map((each) => whole.lastIndexOf(each)).filter((at) => at >= 0);
  return found.length === 0 ? undefined : whole.slice(0, Math.max(...found));
}

/** What follows the name in a call without arguments. */
function emptyCall({ probe, style }: SyntaxContext): string {
  const call = probeCall(0, {});
  const text = probe.calls([call], style);
  return text === undefined ? "" : text.slice(text.lastIndexOf(call.name) + call.name.length);
}

/** What follows the name of the only argument. */
function valueText({ probe, style }: SyntaxContext, value: unknown): string {
  const text = probe.calls([probeCall(0, { [keys[0]]: value })], style) ?? "";
  const at = text.indexOf(keys[0]);
  return at < 0 ? "" : text.slice(at + keys[0].length);
}

function writesPython(context: SyntaxContext): boolean {
  const text = valueText(context, true);
  return text.includes("True") && !text.includes("true>");
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/** A text up to its last tag that is whole. */
function wholeTags(text: string): string {
  const open = text.lastIndexOf("<");
  return open >= 0 && !text.slice(open).includes(">") ? text.slice(0, open) : text;
}
