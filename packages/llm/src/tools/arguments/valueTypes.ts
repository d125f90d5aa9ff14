import { isRecord } from "@centella/quant/checks";
import type { ValueType } from "../formats/toolFormat.ts";
import type { ArgumentSchema } from "./argumentReader.ts";

const all: ReadonlySet<ValueType> = new Set(["string", "number", "boolean", "null", "array", "object"]);

/** Types that the schema of a tool allows for an argument, as far as its `type`, `enum` or `const` says so. */
export function typesOf(schema: ArgumentSchema, name: string): ReadonlySet<ValueType> {
  const properties = isRecord(schema) && isRecord(schema.properties) ? schema.properties : {};
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isRecord(property) ? typesOfSchema(property) : all;
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
