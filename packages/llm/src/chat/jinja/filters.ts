import { entryOf } from "@centella/quant/checks";
import { type Budget, TextBuilder } from "./budget.ts";
import { bind, type Operation, type Operations, operation, textArgument, wholeArgument } from "./calls.ts";
import { EvaluationError } from "./errors.ts";
import { formatPercent } from "./format.ts";
import { attributeOf, listFilters, orElse } from "./listFilters.ts";
import { tests } from "./tests.ts";
import { Text } from "./text.ts";
import { join, textMethods } from "./textMethods.ts";
import { type JsonStyle, toJson, toText } from "./toText.ts";
import { type Arguments, Dict, elementsOf, Float, isTrue, List, numberOf, typeName, type Value } from "./values.ts";

/** A string method as a filter, which converts its operand to text. */
function asText(name: string): Operation {
  const { parameters, apply } = entryOf(textMethods, name);
  return { parameters, apply: (budget, value, ...args) => apply(budget, toText(value, budget), ...args) };
}

const html: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;" };
const escapeHtml = operation("", (budget, value) => {
  const text = toText(value, budget);
  budget.spendOnText(text.length);
  return text.map((plain) => plain.replace(/[&<>'"]/g, (char) => html[char] ?? char));
});

const orDefault = operation("default_value boolean", (_, value, fallback = Text.empty, boolean) =>
  value === undefined || (isTrue(boolean) && !isTrue(value)) ? fallback : value,
);

const filters: Operations = new Map<string, Operation>([
  ...listFilters,
  ...["lower", "upper", "capitalize", "title", "replace"].map((name) => [name, asText(name)] as const),
  ["trim", asText("strip")],
  ["string", operation("", (budget, value) => toText(value, budget))],
  ["safe", operation("", (budget, value) => toText(value, budget))],
  ["escape", escapeHtml],
  ["e", escapeHtml],
  ["default", orDefault],
  ["d", orDefault],
  [
    "tojson",
    operation("indent ensure_ascii separators sort_keys", (budget, value, ...style) => toJson(value, jsonStyle(budget, style), budget)),
  ],
  ["indent", operation("width first blank", indent)],
  [
    "join",
    operation("d attribute", (budget, value, separator = Text.empty, attribute) => {
      const items =
        attribute === undefined ? value : new List(elementsOf(value, budget).map((item) => attributeOf(item, attribute, budget)));
      return join(budget, items, toText(separator, budget));
    }),
  ],
  ["abs", operation("", (_, value) => (value instanceof Float ? new Float(Math.abs(value.value)) : Math.abs(number("abs", value))))],
  ["round", operation("precision method", round)],
  ["int", operation("default", (budget, value, fallback = 0) => toInteger(budget, value) ?? fallback)],
  ["float", operation("default", (budget, value, fallback = new Float(0)) => toFloat(budget, value) ?? fallback)],
  ["items", operation("", (_, value) => new List(value === undefined ? [] : dict("items", value).items()))],
]);

/** Applies a filter by name. @throws {EvaluationError} if the filter is unknown or does not accept the value */
export function applyFilter(name: string, value: Value, args: Arguments, budget: Budget): Value {
  budget.spend(1);
  switch (name) {
    case "map":
      return new List(elementsOfAny(value, budget).map(mapping(args, budget)));
    case "select":
    case "reject":
      return new List(elementsOfAny(value, budget).filter((item) => applyTest(args, item, budget) === (name === "select")));
    case "selectattr":
    case "rejectattr": {
      const [attribute, ...positional] = args.positional;
      const holds = (item: Value): boolean => applyTest({ ...args, positional }, attributeOf(item, attribute, budget), budget);
      return new List(elementsOfAny(value, budget).filter((item) => holds(item) === (name === "selectattr")));
    }
    case "format":
      return formatPercent(toText(value, budget), args.positional, budget);
  }
  const filter = filters.get(name);
  if (filter === undefined) throw new EvaluationError(`expected a filter that Jinja has, got "${name}"`);
  return filter.apply(budget, value, ...bind(name, filter.parameters, args));
}

/** Jinja treats falsy values such as None as an empty list. */
function elementsOfAny(value: Value, budget: Budget): readonly Value[] {
  return isTrue(value) ? elementsOf(value, budget) : [];
}

/** The function that `map` applies to each element: reads an attribute or applies a filter. */
function mapping({ positional, named }: Arguments, budget: Budget): (item: Value) => Value {
  const attribute = named.get("attribute");
  if (attribute !== undefined) return (item) => orElse(attributeOf(item, attribute, budget), named.get("default"));
  const [filter, ...rest] = positional;
  const { value: name } = textArgument("map", filter);
  return (item) => applyFilter(name, item, { positional: rest, named }, budget);
}

/** The test that the first argument names. Default: truthiness. */
function applyTest({ positional: [name, ...positional], named }: Arguments, value: Value, budget: Budget): boolean {
  budget.spend(1);
  if (name === undefined) return isTrue(value);
  const { value: key } = textArgument("select", name);
  const test = tests.get(key);
  if (test === undefined) throw new EvaluationError(`expected a test that Jinja has, got "${key}"`);
  return isTrue(test.apply(budget, value, ...bind(key, test.parameters, { positional, named })));
}

function jsonStyle(budget: Budget, [indentation, isAscii, separators, sortsKeys]: readonly Value[]): JsonStyle {
  const width = wholeArgument("tojson", indentation, -1);
  const isIndented = indentation !== undefined && indentation !== null;
  const [item, key] = separators instanceof List ? separators.items : [];
  budget.checkLength(width);
  return {
    ...(isIndented && { indent: " ".repeat(Math.max(0, width)) }),
    itemSeparator: item === undefined ? (isIndented ? "," : ", ") : textArgument("tojson", item).value,
    keySeparator: key === undefined ? ": " : textArgument("tojson", key).value,
    isAscii: isTrue(isAscii),
    sortsKeys: isTrue(sortsKeys),
  };
}

function indent(budget: Budget, value: Value, width: Value, first: Value, blank: Value): Text {
  const text = toText(value, budget);
  const count = width instanceof Text ? 0 : wholeArgument("indent", width, 4);
  budget.checkLength(count);
  const margin = width instanceof Text ? width : Text.of(" ".repeat(Math.max(0, count)), "t");
  const out = new TextBuilder(budget);
  for (let [start, isFirst] = [0, true]; start <= text.length; isFirst = false) {
    const feed = text.value.indexOf("\n", start);
    const end = feed < 0 ? text.length : feed;
    budget.spend(1);
    if (isFirst ? isTrue(first) : end > start || isTrue(blank)) out.add(margin);
    out.add(text.slice(start, end + 1));
    start = end + 1;
  }
  return out.done();
}

function round(_: Budget, value: Value, precision: Value, method: Value): Value {
  const scale = 10 ** Math.min(15, wholeArgument("round", precision, 0));
  const scaled = number("round", value) * scale;
  const { value: how } = method === undefined ? { value: "common" } : textArgument("round", method);
  if (how === "ceil") return new Float(Math.ceil(scaled) / scale);
  if (how === "floor") return new Float(Math.floor(scaled) / scale);
  const floor = Math.floor(scaled);
  // Python rounds halves to even numbers.
  const isHalf = scaled - floor === 0.5;
  return new Float((isHalf ? floor + Math.abs(floor % 2) : Math.round(scaled)) / scale);
}

function toInteger(budget: Budget, value: Value): number | undefined {
  if (value instanceof Text) {
    budget.spendOnText(value.length);
    const text = value.value.trim();
    return /^[-+]?\d+(?:\.\d*)?$/.test(text) ? Math.trunc(Number(text)) : undefined;
  }
  const found = numberOf(value);
  return found === undefined || !Number.isFinite(found) ? undefined : Math.trunc(found);
}

function toFloat(budget: Budget, value: Value): Float | undefined {
  if (value instanceof Text) budget.spendOnText(value.length);
  const found = value instanceof Text && value.value.trim() !== "" ? Number(value.value) : numberOf(value);
  return found === undefined || Number.isNaN(found) ? undefined : new Float(found);
}

function number(name: string, value: Value): number {
  const found = numberOf(value);
  if (found === undefined) throw new EvaluationError(`${name}: expected a number, got ${typeName(value)}`);
  return found;
}

function dict(name: string, value: Value): Dict {
  if (value instanceof Dict) return value;
  throw new EvaluationError(`${name}: expected a mapping, got ${typeName(value)}`);
}
