import { shown } from "../checks.ts";
import { text } from "../expression/builders.ts";
import { type Documents, type SchemaNode, schemaError } from "./documents.ts";
import { formatOf } from "./formats.ts";
import { all, type Formula, type Kind, not, type Scalar } from "./formula.ts";
import { countOf, numberOf } from "./keywordValues.ts";
import { exact, Language, unionOf } from "./language.ts";
import { exactly, integers, multiples, nextUp, range } from "./numbers.ts";
import { ofLength, stringText } from "./strings.ts";

type Keywords = Readonly<Record<string, unknown>>;

const kinds: ReadonlySet<string> = new Set<Kind>(["null", "boolean", "number", "string", "array", "object"]);

/** Formula of `type`. */
export function types(node: SchemaNode, value: unknown): Formula {
  const names = Array.isArray(value) ? value : [value];
  for (const name of names) {
    if (name !== "integer" && !kinds.has(name)) {
      throw schemaError("GRAMMAR_SYNTAX", node, "type", `expected the name of a type or a list of them, got ${shown(name)}`);
    }
  }
  const set = new Set<Kind>(names.map((name) => (name === "integer" ? "number" : name)));
  const formula: Formula = { kind: "types", types: set };
  return set.has("number") && !names.includes("number") ? all([formula, numbers(integers)]) : formula;
}

/** Formula of `minimum`, `maximum`, `exclusiveMinimum` and `exclusiveMaximum`, which are read together. */
export function bounded(node: SchemaNode, schema: Keywords): Formula {
  const least = lowerBound(node, "minimum", "exclusiveMinimum", schema, (bound) => bound);
  const most = -lowerBound(node, "maximum", "exclusiveMaximum", schema, (bound) => -bound);
  return least > most ? not({ kind: "types", types: new Set(["number"]) }) : numbers(range(least, most));
}

/** Returns the least number that both keywords allow. For upper bounds, `oriented` changes the sign. */
function lowerBound(node: SchemaNode, inclusive: string, exclusive: string, schema: Keywords, oriented: (bound: number) => number): number {
  const { [inclusive]: bound, [exclusive]: strict } = schema;
  const isFlag = node.draft === 4 && typeof strict === "boolean";
  const least = bound === undefined ? -Infinity : oriented(numberOf(node, inclusive, bound));
  if (isFlag) return strict && bound !== undefined ? nextUp(least) : least;
  return strict === undefined ? least : Math.max(least, nextUp(oriented(numberOf(node, exclusive, strict))));
}

/** Formula of `multipleOf`. */
export function multiplesOf(node: SchemaNode, value: unknown): Formula {
  const divisor = numberOf(node, "multipleOf", value);
  if (divisor <= 0) throw schemaError("GRAMMAR_SYNTAX", node, "multipleOf", `expected a positive number, got ${divisor}`);
  const language = multiples(divisor);
  if (language !== undefined) return numbers(language);
  const error = schemaError("GRAMMAR_UNSUPPORTED", node, "multipleOf", `${divisor} has too many significant digits to be decided`);
  return { kind: "refused", type: "number", error };
}

/** Formula of `minLength` and `maxLength`, which are read together. */
export function length(node: SchemaNode, { minLength = 0, maxLength }: Keywords): Formula {
  const min = countOf(node, "minLength", minLength);
  const max = maxLength === undefined ? Infinity : countOf(node, "maxLength", maxLength);
  return min > max ? not({ kind: "types", types: new Set(["string"]) }) : strings(exact(ofLength(min, max)));
}

/** Formula of `format`. Warns of an unknown one, which has no formula. */
export function format(node: SchemaNode, name: string, documents: Documents): Formula | undefined {
  const language = formatOf(name);
  if (language === undefined) {
    documents.warn(node, "format", `unknown format "${name}", ignored`);
    return undefined;
  }
  if (language === "refused") {
    return { kind: "refused", type: "string", error: schemaError("GRAMMAR_UNSUPPORTED", node, "format", `"${name}" is not enforced`) };
  }
  return strings(language);
}

function numbers(language: Language): Formula {
  return { kind: "scalar", type: "number", language };
}

/** Strings of `language`, and values of other types. */
export function strings(language: Language): Formula {
  return { kind: "scalar", type: "string", language };
}

/** Formulas of the scalars of `enum` or `const`, one for each of their types. */
export function constants(values: readonly unknown[]): Formula[] {
  const byType = new Map<Scalar, unknown[]>();
  for (const value of values) {
    const type = value === null ? "null" : (typeof value as Scalar);
    const some = byType.get(type) ?? [];
    byType.set(type, some);
    some.push(value);
  }
  return [...byType].map(([type, some]) => {
    const texts = [...new Set(some.map((value) => JSON.stringify(value)))];
    const languages = [...new Set(some)].map(valueLanguage);
    const language = new Language(
      () => unionOf(languages.map(({ narrow }) => narrow)),
      () => unionOf(languages.map(({ wide }) => wide)),
    );
    return all([
      { kind: "types", types: new Set([type]) },
      { kind: "scalar", type, language, texts },
    ]);
  });
}

/** Returns whether JSON has `value`. It has no infinite numbers, though `JSON.parse` reads `1e400` as one. */
export function isJsonValue(value: unknown): boolean {
  return typeof value === "number" ? Number.isFinite(value) : kinds.has(typeof value);
}

function valueLanguage(value: unknown): Language {
  if (typeof value === "number") return exactly(value);
  return exact(typeof value === "string" ? stringText(value) : text(String(value)));
}
