import { partialTag } from "../../generate/textSplitter.ts";
import type { TaggedSyntax, ValueType } from "../formats/toolFormat.ts";
import type { ArgumentReader, ArgumentSchema, ReadArguments } from "./argumentReader.ts";
import { matchLiteral } from "./literalMatch.ts";
import { parseNotation } from "./notation.ts";
import { typesOf } from "./valueTypes.ts";

/** What XML puts before text with markup in it. */
const cdata = "<![CDATA[";

/** Reads arguments between markup. Values of tools' texts have no quotation marks, so the schema or the markup tells texts from others. */
export class TaggedReader implements ArgumentReader {
  readonly #syntax: TaggedSyntax;
  readonly #schema: ArgumentSchema;
  /** The distinct texts between a name and its value, longest first, with the types that they introduce. */
  readonly #opens: readonly (readonly [text: string, types: ReadonlySet<ValueType>])[];
  #state: "first" | "name" | "value" | "next" = "first";
  #held = "";
  #types: ReadonlySet<ValueType> = new Set();
  /** Text that ends the value. */
  #close = "";
  /** Whether the value is certainly a text, so that it can be passed on before it ends. */
  #isText = false;
  #count = 0;

  constructor(syntax: TaggedSyntax, schema: ArgumentSchema) {
    this.#syntax = syntax;
    this.#schema = schema;
    const types = Object.entries(syntax.open) as [ValueType, string][];
    const distinct = [...new Set(Object.values(syntax.open))].sort((a, b) => b.length - a.length);
    this.#opens = distinct.map((open) => [open, new Set(types.flatMap(([type, text]) => (text === open ? [type] : [])))]);
  }

  push(text: string): ReadArguments {
    this.#held += text;
    let delta = "";
    for (;;) {
      const step = this.#step();
      if (step === undefined) return { delta };
      delta += step.delta;
      if (step.rest !== undefined) return { delta, rest: step.rest };
    }
  }

  flush(): ReadArguments {
    // Without text that follows, nothing says whether another argument would have come.
    return { delta: "" };
  }

  /** Reads on, as far as the held text is certain. Undefined: more text is needed. */
  #step(): ReadArguments | undefined {
    switch (this.#state) {
      case "first":
        return this.#separator(this.#syntax.first);
      case "next":
        return this.#separator(this.#syntax.next);
      case "name":
        return this.#name();
      case "value":
        return this.#value();
    }
  }

  /** The text before a name, or the end of the arguments. */
  #separator(text: string): ReadArguments | undefined {
    const found = matchLiteral(this.#held, text);
    if (found.kind === "partial") return undefined;
    const isEnd = found.kind === "none" || this.#held[found.length] === "/";
    if (isEnd) return { delta: this.#count === 0 ? "{}" : "}", rest: this.#held };
    if (this.#held.length === found.length) return undefined;
    this.#held = this.#held.slice(found.length);
    this.#state = "name";
    return { delta: "" };
  }

  #name(): ReadArguments | undefined {
    const found = this.#opens
      .map(([open, types]) => ({ open, types, at: this.#held.indexOf(open) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    if (found === undefined) return undefined;
    const name = this.#held.slice(0, found.at).trim();
    this.#held = this.#held.slice(found.at + found.open.length);
    const { closeBefore, close } = this.#syntax;
    this.#close = closeBefore === undefined ? close : closeBefore + name + close;
    this.#types = found.types.has("string") ? intersection(typesOf(this.#schema, name), found.types) : found.types;
    this.#isText = this.#types.size === 1 && this.#types.has("string");
    this.#state = "value";
    const start = `${this.#count === 0 ? "{" : ", "}${JSON.stringify(name)}: `;
    this.#count++;
    return { delta: this.#isText ? `${start}"` : start };
  }

  #value(): ReadArguments | undefined {
    if (this.#syntax.hasCdata && cdata.startsWith(this.#held.slice(0, cdata.length))) {
      if (this.#held.length < cdata.length) return undefined;
      this.#held = this.#held.slice(cdata.length);
      this.#close = `]]>${this.#close}`;
    }
    const end = this.#held.indexOf(this.#close);
    if (end >= 0) {
      const value = this.#held.slice(0, end);
      this.#held = this.#held.slice(end + this.#close.length);
      this.#state = "next";
      return { delta: this.#isText ? `${escaped(value)}"` : valueText(value, this.#types) };
    }
    if (!this.#isText) return undefined;
    const certain = wholeLength(this.#held, this.#held.length - partialTag(this.#held, this.#close));
    if (certain === 0) return undefined;
    const delta = escaped(this.#held.slice(0, certain));
    this.#held = this.#held.slice(certain);
    return { delta };
  }
}

function intersection(types: ReadonlySet<ValueType>, others: ReadonlySet<ValueType>): ReadonlySet<ValueType> {
  const both = new Set([...types].filter((type) => others.has(type)));
  return both.size === 0 ? others : both;
}

/** A length at which no pair of surrogates is cut in two. */
function wholeLength(text: string, length: number): number {
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** JSON of a value that may be a text or another value. */
function valueText(text: string, types: ReadonlySet<ValueType>): string {
  const value = parsed(text.trim());
  return value !== undefined && types.has(typeOf(value)) ? JSON.stringify(value) : JSON.stringify(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parseNotation(text, "python");
  }
}

function typeOf(value: unknown): ValueType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as ValueType);
}
