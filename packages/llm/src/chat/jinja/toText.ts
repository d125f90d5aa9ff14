import { type Budget, TextBuilder } from "./budget.ts";
import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";
import { Attributes, Dict, Float, List, type Value } from "./values.ts";

/** Containers nested deeper than this are not written. A namespace may contain itself. */
const maxDepth = 250;

/** Options of `tojson`. */
export interface JsonStyle {
  /** Indentation of each level; undefined writes one line. */
  readonly indent?: string;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortsKeys: boolean;
  readonly isAscii: boolean;
}

/** Python's `str`. */
export function toText(value: Value, budget: Budget): Text {
  if (value instanceof Text) return value;
  if (value === undefined) return Text.empty;
  if (value instanceof List || value instanceof Dict || value instanceof Attributes) return represent(value, budget);
  return Text.of(scalar(value), "c");
}

/** Python's `repr` of a container. */
function represent(value: Value, budget: Budget): Text {
  const out = new TextBuilder(budget);
  const write = (item: Value, depth: number): void => {
    if (depth > maxDepth) throw tooDeep();
    if (item instanceof Text) quote(item, out);
    else if (item instanceof List) {
      out.addAs(item.isTuple ? "(" : "[", "c");
      for (const [i, element] of item.items.entries()) {
        if (i > 0) out.addAs(", ", "c");
        write(element, depth + 1);
      }
      out.addAs(item.isTuple ? (item.items.length === 1 ? ",)" : ")") : "]", "c");
    } else if (item instanceof Dict) {
      out.addAs("{", "c");
      for (const [i, [key, element]] of [...item.entries.values()].entries()) {
        if (i > 0) out.addAs(", ", "c");
        write(key, depth + 1);
        out.addAs(": ", "c");
        write(element, depth + 1);
      }
      out.addAs("}", "c");
    } else out.addAs(scalar(item), "c");
  };
  write(value, 0);
  return out.done();
}

/** Characters that `repr` escapes, besides quotes. */
const unprintable = /[\\\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const shortEscapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function quote(text: Text, out: TextBuilder): void {
  const mark = text.value.includes("'") && !text.value.includes('"') ? '"' : "'";
  out.addAs(mark, "c");
  out.add(
    text.map((value) => {
      const escaped = value.replace(unprintable, (char) => shortEscapes[char] ?? numericEscape(char.codePointAt(0) ?? 0));
      return mark === "'" ? escaped.replaceAll("'", "\\'") : escaped;
    }),
  );
  out.addAs(mark, "c");
}

function numericEscape(code: number): string {
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(digits as number, "0")}`;
}

/** Python's `repr` of a scalar. */
function scalar(value: Value): string {
  if (value === undefined) return "Undefined";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return wholeNumber(value);
  if (value instanceof Float) return floatText(value.value);
  return value instanceof Attributes ? "<Namespace>" : "<function>";
}

function wholeNumber(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}

/** Python's `repr` of a float: with an exponent of at least two digits from 1e16 on and below 1e-4. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Python's `json.dumps`. */
export function toJson(value: Value, style: JsonStyle, budget: Budget): Text {
  const out = new TextBuilder(budget);
  const write = (item: Value, depth: number): void => {
    if (depth > maxDepth) throw tooDeep();
    if (item instanceof Text) jsonString(item, style, out);
    else if (item instanceof List) {
      container("[]", item.items, depth, (element) => write(element, depth + 1));
    } else if (item instanceof Dict) {
      let entries = [...item.entries.values()].map(([key, element]) => [toText(key, budget), element] as const);
      if (style.sortsKeys) entries = entries.sort(([a], [b]) => (a.value < b.value ? -1 : Number(a.value > b.value)));
      container("{}", entries, depth, ([key, element]) => {
        jsonString(key, style, out);
        out.addAs(style.keySeparator, "c");
        write(element, depth + 1);
      });
    } else out.addAs(jsonScalar(item), "c");
  };
  const container = <T>(brackets: string, items: readonly T[], depth: number, each: (item: T) => void): void => {
    out.addAs(brackets.charAt(0), "c");
    for (const [i, item] of items.entries()) {
      if (i > 0) out.addAs(style.itemSeparator, "c");
      newLine(depth + 1);
      each(item);
    }
    if (items.length > 0) newLine(depth);
    out.addAs(brackets.charAt(1), "c");
  };
  const newLine = (depth: number): void => {
    if (style.indent === undefined) return;
    budget.checkLength(style.indent.length * depth);
    out.addAs(`\n${style.indent.repeat(depth)}`, "c");
  };
  write(value, 0);
  return out.done();
}

function jsonString(text: Text, { isAscii }: JsonStyle, out: TextBuilder): void {
  out.addAs('"', "c");
  out.add(
    text.map((value) => {
      const escaped = JSON.stringify(value).slice(1, -1);
      return isAscii ? escaped.replace(/[\x7f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`) : escaped;
    }),
  );
  out.addAs('"', "c");
}

function jsonScalar(value: Value): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return wholeNumber(value);
  if (value instanceof Float) return Number.isFinite(value.value) ? floatText(value.value) : "NaN";
  throw new EvaluationError("tojson: expected data, got a value that JSON cannot express");
}

function tooDeep(): EvaluationError {
  return new EvaluationError(`expected data nested at most ${maxDepth} deep, got more; does it contain itself?`);
}
