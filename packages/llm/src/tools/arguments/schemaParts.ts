import { UnsupportedError } from "@centella/core";
import {
  and,
  anyCodePoint,
  anyText,
  choice,
  type Expression,
  empty,
  fromRegex,
  type Regular,
  reference,
  repeat,
  sequence,
  stringFormat,
  text,
} from "@centella/grammar";
import { isRecord } from "@centella/quant/checks";

/** A schema that is an object. */
export type ObjectSchema = Readonly<Record<string, unknown>>;

/** The schema of a tool's arguments, an object. @throws {UnsupportedError} if they may be something else */
export function schemaOf(tool: string, schema: ObjectSchema | boolean = true): ObjectSchema {
  if (schema === true) return { type: "object" };
  if (!isRecord(schema) || (schema.type !== undefined && schema.type !== "object"))
    throw new UnsupportedError("tools", `the schema of ${tool} allows arguments that are no object`);
  return { ...schema, type: "object" };
}

/** A schema of a tool, where its references are resolved. */
export interface SchemaContext {
  readonly tool: string;
  /** The schema of all arguments. */
  readonly root: ObjectSchema;
}

const annotations = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"];
const valueKeywords = ["type", "enum", "const"];
const numberKeywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const stringKeywords = ["minLength", "maxLength", "pattern", "format"];
const containerKeywords = ["items", "minItems", "maxItems", "properties", "required", "additionalProperties"];
const rootKeywords = ["$schema", "$id", "$defs", "definitions"];
const known = new Set([...annotations, ...valueKeywords, ...numberKeywords, ...stringKeywords, ...containerKeywords, ...rootKeywords]);

/** Most references, and choices of schemas, that lead to one another. */
const maxReferences = 32;

/**
 * The schema that a schema refers to, or itself.
 * @throws {UnsupportedError} for a reference that leaves the schema, and for keywords that formats without JSON do not enforce
 */
export function resolved(schema: unknown, context: SchemaContext): ObjectSchema {
  const found = target(schema, context);
  const keyword = Object.keys(found).find((key) => !known.has(key));
  if (keyword !== undefined) throw unsupported(context, JSON.stringify(keyword));
  return found;
}

/**
 * The schemas of which a value must match one: those of `anyOf`, each with the keywords beside it, or the schema itself.
 * @throws as {@link resolved}
 */
export function alternativesOf(schema: unknown, context: SchemaContext, depth = 0): readonly ObjectSchema[] {
  const found = target(schema, context);
  if (found.anyOf === undefined) return [resolved(found, context)];
  const { anyOf, ...rest } = found;
  if (depth === maxReferences || !Array.isArray(anyOf)) throw unsupported(context, '"anyOf" in a cycle');
  const shared = Object.entries(rest).filter(([key]) => !annotations.includes(key));
  return anyOf
    .filter((each) => each !== false)
    .flatMap((each) => alternativesOf(each, context, depth + 1))
    .map((each) => merged(each, shared, context));
}

/** Both conditions at once, if none of their keywords depends on another. */
function merged(schema: ObjectSchema, shared: readonly (readonly [key: string, value: unknown])[], context: SchemaContext): ObjectSchema {
  const clash = shared.find(([key]) => containerKeywords.includes(key) || Object.hasOwn(schema, key));
  if (clash !== undefined) throw unsupported(context, `"anyOf" beside ${JSON.stringify(clash[0])}`);
  return shared.length === 0 ? schema : { ...schema, ...Object.fromEntries(shared) };
}

/** The object that a schema is or refers to. */
export function target(schema: unknown, context: SchemaContext): ObjectSchema {
  let found = schema;
  for (let i = 0; isRecord(found) && typeof found.$ref === "string"; i++) {
    if (i === maxReferences || Object.keys(found).some((key) => key !== "$ref" && ![...annotations, ...valueKeywords].includes(key)))
      throw unsupported(context, `"$ref" beside other keywords`);
    found = atPointer(context, found.$ref);
  }
  if (found === undefined || found === true) return {};
  if (!isRecord(found)) throw unsupported(context, "a schema that no value fits");
  return found;
}

function atPointer(context: SchemaContext, reference: string): unknown {
  if (!reference.startsWith("#")) throw unsupported(context, `the reference ${JSON.stringify(reference)}`);
  const keys = reference.slice(1).split("/").slice(1);
  let found: unknown = context.root;
  for (const key of keys) {
    const name = decoded(key).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  if (found === undefined) throw unsupported(context, `the reference ${JSON.stringify(reference)}`);
  return found;
}

/** A part of a fragment without percent-encoding. Text that is not percent-encoded is kept, as in the schemas of answers. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The error for a schema that a format without JSON does not enforce. */
export function unsupported({ tool }: SchemaContext, what: string): UnsupportedError {
  return new UnsupportedError(
    "tools",
    `the format in which this model calls tools does not enforce ${what} in the schema of ${tool}; simplify the schema, or pass strictTools: false`,
  );
}

/** The strings that a schema allows, without quotation marks. @throws {UnsupportedError} */
export function stringsOf(schema: ObjectSchema, context: SchemaContext): Regular {
  const values = schema.const !== undefined ? [schema.const] : schema.enum;
  const parts: Regular[] = [];
  if (Array.isArray(values)) parts.push(choice(values.filter((value) => typeof value === "string").map((value) => text(value))));
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined || maxLength !== undefined)
    parts.push(repeat(anyCodePoint, (minLength as number | undefined) ?? 0, (maxLength as number | undefined) ?? Infinity));
  if (typeof pattern === "string") parts.push(fromRegex(pattern, { anchored: false }).start);
  if (typeof format === "string") {
    const strings = stringFormat(format);
    if (strings === "refused") throw unsupported(context, `the format ${JSON.stringify(format)}`);
    if (strings !== undefined) parts.push(strings);
  }
  return parts.length === 0 ? anyText : and(parts);
}

/** A property, as a grammar writes it. */
export interface Member {
  readonly isRequired: boolean;
  readonly item: Expression;
}

/** Members in their order with separators, as rules whose names begin with `prefix`. */
export function memberList(
  members: readonly Member[],
  {
    first,
    next,
    prefix,
    rules,
  }: { readonly first: Expression; readonly next: Expression; readonly prefix: string; readonly rules: Record<string, Expression> },
): Expression {
  const name = (i: number, isFirst: boolean): string => `${prefix}${i}${isFirst ? "first" : "next"}`;
  for (const isFirst of [true, false]) {
    rules[name(members.length, isFirst)] = empty;
    for (const [i, { isRequired, item }] of members.entries()) {
      const present = sequence([isFirst ? first : next, item, reference(name(i + 1, false))]);
      rules[name(i, isFirst)] = isRequired ? present : choice([present, reference(name(i + 1, isFirst))]);
    }
  }
  return reference(name(0, true));
}

/** Properties of a schema of objects, and whether each is required. */
export function propertiesOf(schema: ObjectSchema): readonly (readonly [name: string, schema: unknown, isRequired: boolean])[] {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
  const names = new Set([...Object.keys(properties), ...required]);
  return [...names].map((name) => [name, Object.hasOwn(properties, name) ? properties[name] : true, required.includes(name)]);
}
