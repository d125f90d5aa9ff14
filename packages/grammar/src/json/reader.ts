import type { Meter } from "../budget.ts";
import type { Regular } from "../expression/types.ts";
import { type Documents, type SchemaNode, schemaError } from "./documents.ts";
import { all, always, any, atom, type Container, type Formula, impossible, type Literal, not } from "./formula.ts";
import { isEnforced } from "./keywords.ts";
import { countOf, entriesOf, listOf, namesOf, stringOf } from "./keywordValues.ts";
import { exact } from "./language.ts";
import { patternLanguage } from "./patterns.ts";
import { bounded, constants, format, isJsonValue, length, multiplesOf, strings, types } from "./scalarKeywords.ts";

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
        return multiplesOf(node, value);
      case "minLength":
      case "maxLength":
        return isFirstOf(lengths, schema, keyword) ? length(node, schema) : undefined;
      case "pattern":
        return strings(exact(this.pattern(stringOf(node, keyword, value), node, keyword)));
      case "format":
        return format(node, stringOf(node, keyword, value), this.#documents);
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
    const scalars: unknown[] = [];
    const parts: Formula[] = [];
    for (const value of values) {
      this.#documents.charge(valueCost);
      if (!isJsonValue(value)) throw schemaError("GRAMMAR_SYNTAX", node, keyword, `expected values of JSON, got ${String(value)}`);
      // In a double complement, because the members of a constant do not count as evaluated.
      if (typeof value === "object" && value !== null)
        parts.push(not(not({ kind: "schema", node: this.#container(node, keyword, value) })));
      else scalars.push(value);
    }
    return any([...parts, ...constants(scalars)]);
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
/** Returns whether `keyword` is the first of `group` in `schema`: keywords that are read together are read there. */
function isFirstOf(group: ReadonlySet<string>, schema: Keywords, keyword: string): boolean {
  return Object.keys(schema).find((key) => group.has(key) && schema[key] !== undefined) === keyword;
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
