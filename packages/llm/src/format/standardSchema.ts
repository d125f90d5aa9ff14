import { ArgumentError, UnsupportedError } from "@centella/core";
import type { JsonSchema } from "@centella/grammar";
import { isRecord } from "@centella/quant/checks";
import type { StandardSchema, ValidationIssue } from "./schemaTypes.ts";

/** The version of JSON Schema that libraries are asked for. */
const target = "draft-2020-12";

/** Whether a schema is a type of a validation library. */
export function isStandard(schema: unknown): schema is StandardSchema {
  return (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema;
}

/**
 * The JSON Schema of a schema. Objects of types of validation libraries have no other properties than theirs, since libraries drop others.
 * @throws {UnsupportedError} if a library cannot convert its type; {ArgumentError} if it fails to
 */
export function jsonSchemaOf(schema: JsonSchema | StandardSchema): JsonSchema {
  if (!isStandard(schema)) return schema;
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined)
    throw new UnsupportedError("schema", `types of ${vendor} do not convert themselves to JSON Schema; pass their JSON Schema`);
  try {
    return closed(jsonSchema.input({ target }));
  } catch (error) {
    const fix = "use types with a JSON Schema, or pass a JSON Schema";
    throw new ArgumentError("schema", `a type of ${vendor} that JSON Schema can express`, (error as Error).message, fix);
  }
}

/** A schema whose objects have the named properties alone. Parts of objects stay open. */
function closed(schema: Readonly<Record<string, unknown>>): JsonSchema {
  return JSON.stringify(schema).includes('"allOf"') ? schema : (withoutOthers(schema) as JsonSchema);
}

function withoutOthers(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutOthers);
  if (!isRecord(schema)) return schema;
  const inside = Object.entries(schema).map(([keyword, value]) => {
    if (maps.includes(keyword) && isRecord(value))
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutOthers(each)]))];
    return [keyword, schemas.includes(keyword) ? withoutOthers(value) : value];
  });
  const isOpen = isRecord(schema.properties) && schema.additionalProperties === undefined;
  return { ...Object.fromEntries(inside), ...(isOpen && { additionalProperties: false }) };
}

/** Keywords whose values are schemas by names, and those whose values are one schema or several. */
const maps = ["properties", "$defs", "definitions", "patternProperties"];
const schemas = ["items", "prefixItems", "anyOf", "oneOf", "additionalProperties"];

/** A valid value, or why a value is not valid. JSON Schemas have been enforced, so that all values are valid under them. */
export type Validated = { readonly value: unknown } | { readonly issues: readonly ValidationIssue[] };

/** Validates a value by the library that its schema comes from, which may also change it. */
export async function validated(schema: unknown, value: unknown): Promise<Validated> {
  if (!isStandard(schema)) return { value };
  const result = await schema["~standard"].validate(value);
  return result.issues === undefined ? { value: result.value } : { issues: result.issues };
}
