import type { Meter } from "../budget.ts";
import { shown } from "../checks.ts";
import { text } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { type Documents, type SchemaNode, schemaError } from "./documents.ts";
import { formatOf } from "./formats.ts";
import { all, always, any, atom, type Container, type Formula, impossible, type Kind, type Literal, not } from "./formula.ts";
import { isEnforced } from "./keywords.ts";
import { countOf, entriesOf, listOf, namesOf, numberOf, stringOf } from "./keywordValues.ts";
import { exact, Language, unionOf } from "./language.ts";
import { exactly, integers, multiples, nextUp, range } from "./numbers.ts";
import { patternLanguage } from "./patterns.ts";
import { ofLength, stringText } from "./strings.ts";

type Keywords = Readonly<Record<string, unknown>>;

/** Estimated costs of a value of `enum`, of the numbers of a range, and of a name that is required. */
const valueCost = { bytes: 100, steps: 10 };
const rangeCost = { bytes: 20_000, steps: 1000 };
const nameCost = { bytes: 1500, steps: 40 };

/** Reads the keywords of one schema after the other into formulas. */
export class Reader {
  readonly #formulas = new Map<SchemaNode, Formula>();
  readonly #patterns = new Map<string, Regular>();

  readonly #documents: Documents;
  readonly #meter: Meter;

  constructor(documents: Documents, meter: Meter) {
    this.#documents = documents;
    this.#meter = meter;
  }

  /** Returns the formula of `node`. @throws {GrammarError} for malformed and refused keywords */
  formula(node: SchemaNode): Formula {
    let formula = this.#formulas.get(node);
    if (formula === undefined) {
      formula = this.#read(node);
      this.#formulas.set(node, formula);
    }
    return formula;
  }

  /** Returns the strings in which the regular expression `source`, a value of `keyword`, finds a match. */
  pattern(source: string, node: SchemaNode, keyword: string): Regular {
    let language = this.#patterns.get(source);
    if (language === undefined) {
      language = patternLanguage(source, node, keyword, this.#meter);
      this.#patterns.set(source, language);
    }
    return language;
  }

  #read(node: SchemaNode): Formula {
    const { schema, draft } = node;
    if (typeof schema === "boolean") return schema ? always : impossible;
    if (draft <= 7 && schema.$ref !== undefined) return this.#reference(node, "$ref", schema.$ref);
    const parts: Formula[] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined || !isEnforced(keyword, draft)) continue;
      const part = this.#keyword(node, schema, keyword, value);
      if (part !== undefined) parts.push(part);
    }
    return this.#unevaluated(node, schema, all(parts));
  }

  /** Returns what a keyword says, or undefined if it says nothing on its own. */
  #keyword(node: SchemaNode, schema: Keywords, keyword: string, value: unknown): Formula | undefined {
    switch (keyword) {
      case "$ref":
      case "$dynamicRef":
      case "$recursiveRef":
        return this.#reference(node, keyword, value);
      case "allOf":
        return all(this.#list(node, keyword, value));
      case "anyOf":
        return any(this.#list(node, keyword, value));
      case "oneOf":
        return { kind: "one", of: this.#list(node, keyword, value) };
      case "not":
        return not(this.#child(node, keyword, value));
      case "if":
        return this.#conditional(node, schema);
      case "type":
        return types(node, value);
      case "const":
        return this.#values(node, keyword, [value]);
      case "enum":
        return this.#values(node, keyword, listOf(node, keyword, value));
      default:
        return this.#scalarKeyword(node, schema, keyword, value) ?? this.#containerKeyword(node, schema, keyword, value);
    }
  }

  #scalarKeyword(node: SchemaNode, schema: Keywords, keyword: string, value: unknown): Formula | undefined {
    switch (keyword) {
      case "minimum":
      case "maximum":
      case "exclusiveMinimum":
      case "exclusiveMaximum":
        if (!isFirstOf(bounds, schema, keyword)) return undefined;
        this.#documents.charge(rangeCost);
        return bounded(node, schema);
      case "multipleOf":
        return this.#multiples(node, value);
      case "minLength":
      case "maxLength":
        return isFirstOf(lengths, schema, keyword) ? length(node, schema) : undefined;
      case "pattern":
        return strings(exact(this.pattern(stringOf(node, keyword, value), node, keyword)));
      case "format":
        return this.#format(node, stringOf(node, keyword, value));
      default:
        return undefined;
    }
  }

  #containerKeyword(node: SchemaNode, schema: Keywords, keyword: string, value: unknown): Formula | undefined {
    switch (keyword) {
      case "properties":
      case "patternProperties":
      case "additionalProperties":
        return isFirstOf(memberKeywords, schema, keyword) ? this.#members(node, schema) : undefined;
      case "propertyNames":
        return atom({ type: "object", node, kind: "propertyNames", literal: this.#literal(node, value, [keyword]) });
      case "required":
        if (node.draft === 4 && typeof value === "boolean") return undefined;
        return this.#required(node, namesOf(node, keyword, value));
      case "minProperties":
        return size("object", node, countOf(node, keyword, value), Infinity);
      case "maxProperties":
        return size("object", node, 0, countOf(node, keyword, value));
      case "dependentRequired":
      case "dependentSchemas":
      case "dependencies":
        return this.#dependencies(node, keyword, value);
      case "items":
      case "prefixItems":
        return keyword === (hasPrefixItems(node, schema) ? "prefixItems" : "items") ? this.#items(node, schema) : undefined;
      case "contains":
        return this.#contains(node, schema, value);
      case "minItems":
        return size("array", node, countOf(node, keyword, value), Infinity);
      case "maxItems":
        return size("array", node, 0, countOf(node, keyword, value));
      case "uniqueItems":
        return unique(node, value);
      default:
        return undefined;
    }
  }

  #reference(node: SchemaNode, keyword: string, value: unknown): Formula {
    const target = this.#documents.resolve(node, keyword, value);
    if (keyword !== "$ref" && this.#documents.isDynamic(target)) {
      throw schemaError(
        "GRAMMAR_UNSUPPORTED",
        node,
        keyword,
        "several schemas have this anchor, and the path decides which one is meant; name one of them with $ref",
      );
    }
    return { kind: "schema", node: target };
  }

  #literal(node: SchemaNode, value: unknown, path: readonly [keyword: string, ...string[]]): Literal {
    return { node: this.#documents.node(value, node, path), isNegated: false };
  }

  #child(node: SchemaNode, keyword: string, value: unknown): Formula {
    return { kind: "schema", node: this.#documents.node(value, node, [keyword]) };
  }

  #list(node: SchemaNode, keyword: string, value: unknown): Formula[] {
    return listOf(node, keyword, value).map((each, i) => ({
      kind: "schema",
      node: this.#documents.node(each, node, [keyword, String(i)]),
    }));
  }

  #required(node: SchemaNode, names: readonly string[]): Formula {
    for (const _ of names) this.#documents.charge(nameCost);
    return atom({ type: "object", node, kind: "required", names });
  }

  #conditional(node: SchemaNode, schema: Keywords): Formula | undefined {
    const { then, else: otherwise } = schema;
    if (then === undefined && otherwise === undefined && !this.#documents.hasUnevaluated) return undefined;
    const condition = this.#child(node, "if", schema.if);
    return any([
      all([condition, then === undefined ? always : this.#child(node, "then", then)]),
      all([not(condition), otherwise === undefined ? always : this.#child(node, "else", otherwise)]),
    ]);
  }

  /** Scalars by their texts, arrays and objects by the schemas that say the same. */
  #values(node: SchemaNode, keyword: string, values: readonly unknown[]): Formula {
    const parts: Formula[] = [];
    const byType = new Map<Kind, unknown[]>();
    for (const value of values) {
      this.#documents.charge(valueCost);
      if (!isJsonValue(value)) throw schemaError("GRAMMAR_SYNTAX", node, keyword, `expected values of JSON, got ${String(value)}`);
      // In a double complement, because the members of a constant do not count as evaluated.
      if (typeof value === "object" && value !== null)
        parts.push(not(not({ kind: "schema", node: this.#container(node, keyword, value) })));
      else if (!isScalar(value))
        throw schemaError("GRAMMAR_SYNTAX", node, keyword, `expected values that JSON can express, got ${shown(value)}`);
      else {
        const some = byType.get(kindOf(value)) ?? [];
        byType.set(kindOf(value), some);
        some.push(value);
      }
    }
    for (const [type, some] of byType) {
      if (type === "array" || type === "object") continue;
      const texts = [...new Set(some.map((value) => JSON.stringify(value)))];
      const languages = [...new Set(some)].map(valueLanguage);
      const language = new Language(
        () => unionOf(languages.map(({ narrow }) => narrow)),
        () => unionOf(languages.map(({ wide }) => wide)),
      );
      parts.push(
        all([
          { kind: "types", types: new Set([type]) },
          { kind: "scalar", type, language, texts },
        ]),
      );
    }
    return any(parts);
  }

  #container(node: SchemaNode, keyword: string, value: object): SchemaNode {
    if (Array.isArray(value)) {
      const prefixItems = value.map((item) => ({ const: item }));
      return this.#documents.synthetic({ type: "array", prefixItems, items: false, minItems: value.length }, node, [keyword]);
    }
    const properties = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, { const: member }]));
    const schema = { type: "object", properties, required: Object.keys(value), additionalProperties: false };
    return this.#documents.synthetic(schema, node, [keyword]);
  }

  #multiples(node: SchemaNode, value: unknown): Formula {
    const divisor = numberOf(node, "multipleOf", value);
    if (divisor <= 0) throw schemaError("GRAMMAR_SYNTAX", node, "multipleOf", `expected a positive number, got ${divisor}`);
    const language = multiples(divisor);
    if (language !== undefined) return numbers(language);
    const error = schemaError("GRAMMAR_UNSUPPORTED", node, "multipleOf", `${divisor} has too many significant digits to be decided`);
    return { kind: "refused", type: "number", error };
  }

  #format(node: SchemaNode, name: string): Formula | undefined {
    const format = formatOf(name);
    if (format === undefined) {
      this.#documents.warn(node, "format", `unknown format "${name}", ignored`);
      return undefined;
    }
    if (format === "refused") {
      return { kind: "refused", type: "string", error: schemaError("GRAMMAR_UNSUPPORTED", node, "format", `"${name}" is not enforced`) };
    }
    return strings(format);
  }

  #members(node: SchemaNode, schema: Keywords): Formula {
    const { properties = {}, patternProperties = {}, additionalProperties } = schema;
    const names = new Map<string, Literal>();
    for (const [name, value] of entriesOf(node, "properties", properties))
      names.set(name, this.#literal(node, value, ["properties", name]));
    const patterns: (readonly [Regular, Literal])[] = [];
    for (const [source, value] of entriesOf(node, "patternProperties", patternProperties)) {
      patterns.push([this.pattern(source, node, "patternProperties"), this.#literal(node, value, ["patternProperties", source])]);
    }
    const rest = additionalProperties === undefined ? undefined : this.#literal(node, additionalProperties, ["additionalProperties"]);
    return atom({ type: "object", node, kind: "members", names, patterns, rest });
  }

  #dependencies(node: SchemaNode, keyword: string, value: unknown): Formula {
    const parts = entriesOf(node, keyword, value).map(([name, dependency]): Formula => {
      const present = atom({ type: "object", node, kind: "required", names: [name] });
      const isNames = keyword === "dependentRequired" || (keyword === "dependencies" && Array.isArray(dependency));
      const needed: Formula = isNames
        ? atom({ type: "object", node, kind: "required", names: namesOf(node, keyword, dependency) })
        : { kind: "schema", node: this.#documents.node(dependency, node, [keyword, name]) };
      // Without the type, a dependency would count as applied to arrays, and evaluate their items.
      return any([atom({ type: "object", node, kind: "absent", name }), all([objects, present, needed])]);
    });
    return all(parts);
  }

  #items(node: SchemaNode, schema: Keywords): Formula {
    const isOldForm = Array.isArray(schema.items) && !hasPrefixItems(node, schema);
    const prefixKeyword = isOldForm ? "items" : "prefixItems";
    const restKeyword = isOldForm ? "additionalItems" : "items";
    const list = !isOldForm && !hasPrefixItems(node, schema) ? [] : listOf(node, prefixKeyword, schema[prefixKeyword]);
    const prefix = list.map((item, i) => this.#literal(node, item, [prefixKeyword, String(i)]));
    const rest = schema[restKeyword] === undefined ? undefined : this.#literal(node, schema[restKeyword], [restKeyword]);
    return atom({ type: "array", node, kind: "items", prefix, rest });
  }

  #contains(node: SchemaNode, schema: Keywords, value: unknown): Formula {
    const isCounted = node.draft >= 2019;
    const min = isCounted && schema.minContains !== undefined ? countOf(node, "minContains", schema.minContains) : 1;
    const max = isCounted && schema.maxContains !== undefined ? countOf(node, "maxContains", schema.maxContains) : Infinity;
    return atom({ type: "array", node, kind: "contains", from: 0, literal: this.#literal(node, value, ["contains"]), min, max });
  }

  #unevaluated(node: SchemaNode, schema: Keywords, body: Formula): Formula {
    for (const [keyword, type] of unevaluatedKeywords) {
      const value = schema[keyword];
      if (value === undefined || !isEnforced(keyword, node.draft)) continue;
      body = { kind: "unevaluated", type, body, literal: this.#literal(node, value, [keyword]) };
    }
    return body;
  }
}

const objects: Formula = { kind: "types", types: new Set(["object"]) };
const bounds = new Set(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
const lengths = new Set(["minLength", "maxLength"]);
const memberKeywords = new Set(["properties", "patternProperties", "additionalProperties"]);
const unevaluatedKeywords: readonly (readonly [string, Container])[] = [
  ["unevaluatedProperties", "object"],
  ["unevaluatedItems", "array"],
];
const kinds: ReadonlySet<string> = new Set<Kind>(["null", "boolean", "number", "string", "array", "object"]);

function types(node: SchemaNode, value: unknown): Formula {
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

/** Returns whether `keyword` is the first of `group` in `schema`: keywords that are read together are read there. */
function isFirstOf(group: ReadonlySet<string>, schema: Keywords, keyword: string): boolean {
  return Object.keys(schema).find((key) => group.has(key) && schema[key] !== undefined) === keyword;
}

function bounded(node: SchemaNode, schema: Keywords): Formula {
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

function length(node: SchemaNode, { minLength = 0, maxLength }: Keywords): Formula {
  const min = countOf(node, "minLength", minLength);
  const max = maxLength === undefined ? Infinity : countOf(node, "maxLength", maxLength);
  return min > max ? not({ kind: "types", types: new Set(["string"]) }) : strings(exact(ofLength(min, max)));
}

function hasPrefixItems(node: SchemaNode, schema: Keywords): boolean {
  return schema.prefixItems !== undefined && isEnforced("prefixItems", node.draft);
}

function unique(node: SchemaNode, value: unknown): Formula | undefined {
  if (typeof value !== "boolean") throw schemaError("GRAMMAR_SYNTAX", node, "uniqueItems", "expected a boolean");
  const error = schemaError("GRAMMAR_UNSUPPORTED", node, "uniqueItems", "only items with few possible values (enum, const) can be unique");
  return value ? atom({ type: "array", node, kind: "unique", error }) : undefined;
}

function size(type: Container, node: SchemaNode, min: number, max: number): Formula {
  return atom({ type, node, kind: "size", min, max });
}

function numbers(language: Language): Formula {
  return { kind: "scalar", type: "number", language };
}

function strings(language: Language): Formula {
  return { kind: "scalar", type: "string", language };
}

/** Returns whether JSON has `value`. It has no infinite numbers, though `JSON.parse` reads `1e400` as one. */
function isJsonValue(value: unknown): boolean {
  return typeof value === "number" ? Number.isFinite(value) : kinds.has(typeof value);
}

function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as Kind);
}

function valueLanguage(value: unknown): Language {
  if (typeof value === "number") return exactly(value);
  return exact(typeof value === "string" ? stringText(value) : text(String(value)));
}

/** Whether a value that is no object is one of JSON. */
function isScalar(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
