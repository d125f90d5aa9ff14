import { UnsupportedError } from "@centella/core";
import { isRecord } from "@centella/quant/checks";
import type { ValueType } from "../formats/toolFormat.ts";
import type { ArgumentSchema } from "./argumentReader.ts";
import { alternativesOf } from "./schemaParts.ts";

const all: ReadonlySet<ValueType> = new Set(["string", "number", "boolean", "null", "array", "object"]);

/** Types that the schema of a tool allows for an argument, as far as its `type`, `enum`, `const` or `anyOf` says so. */
export function typesOf(schema: ArgumentSchema, name: string): ReadonlySet<ValueType> {
  if (!isRecord(schema) || !isRecord(schema.properties) || !Object.hasOwn(schema.properties, name)) return all;
  try {
    const alternatives = alternativesOf(schema.properties[name], { tool: "", root: schema });
    return new Set(alternatives.flatMap((each) => [...typesOfSchema(each)]));
  } catch (error) {
    // Without a constraint, schemas may have keywords that say more of types than can be read from them.
    if (!(error instanceof UnsupportedError)) throw error;
    const property = schema.properties[name];
    return isRecord(property) ? typesOfSchema(property) : all;
  }
}

/** Types that a schema allows, as far as its `type`, `enum` or `const` says so. */
export function typesOfSchema({ type, enum: values, const: value }: Readonly<Record<string, unknown>>): ReadonlySet<ValueType> {
  if (value !== undefined) return new Set([typeOf(value)]);
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  const named = (Array.isArray(type) ? type : [type]).map((each) => (each === "integer" ? "number" : each));
  const known = named.filter((each): each is ValueType => all.has(each as ValueType));
  return known.length === 0 ? all : new Set(known);
}

function typeOf(value: unknown): ValueType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as ValueType);
}
