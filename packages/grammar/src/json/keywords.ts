/** JSON Schema drafts that are told apart; a schema without `$schema` is read as 2020-12. */
export type Draft = 4 | 6 | 7 | 2019 | 2020;

const metaschemas: readonly (readonly [RegExp, Draft])[] = [
  [/^https?:\/\/json-schema\.org\/draft-04\/schema#?$/, 4],
  [/^https?:\/\/json-schema\.org\/draft-06\/schema#?$/, 6],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, 7],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, 2019],
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, 2020],
];

/** Returns the draft that a `$schema` names, or undefined for any other metaschema. */
export function draftOf(metaschema: unknown): Draft | undefined {
  if (typeof metaschema !== "string") return undefined;
  return metaschemas.find(([pattern]) => pattern.test(metaschema))?.[1];
}

/** How the value of a keyword holds schemas: one, a list, a map of them, or either one or a list. */
export type Nesting = "schema" | "list" | "map" | "schemaOrList" | "dependencies";

/** Keywords whose value holds schemas. */
export const nestings: ReadonlyMap<string, Nesting> = new Map<string, Nesting>([
  ["additionalItems", "schema"],
  ["additionalProperties", "schema"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["contains", "schema"],
  ["contentSchema", "schema"],
  ["$defs", "map"],
  ["definitions", "map"],
  ["dependencies", "dependencies"],
  ["dependentSchemas", "map"],
  ["else", "schema"],
  ["if", "schema"],
  ["items", "schemaOrList"],
  ["not", "schema"],
  ["oneOf", "list"],
  ["patternProperties", "map"],
  ["prefixItems", "list"],
  ["properties", "map"],
  ["propertyNames", "schema"],
  ["then", "schema"],
  ["unevaluatedItems", "schema"],
  ["unevaluatedProperties", "schema"],
]);

/** First draft that knows a keyword, where that is not draft 4. */
const since: ReadonlyMap<string, Draft> = new Map<string, Draft>([
  ["$anchor", 2019],
  ["$defs", 2019],
  ["$dynamicAnchor", 2020],
  ["$dynamicRef", 2020],
  ["$recursiveAnchor", 2019],
  ["$recursiveRef", 2019],
  ["const", 6],
  ["contains", 6],
  ["dependentRequired", 2019],
  ["dependentSchemas", 2019],
  ["else", 7],
  ["if", 7],
  ["maxContains", 2019],
  ["minContains", 2019],
  ["prefixItems", 2020],
  ["propertyNames", 6],
  ["then", 7],
  ["unevaluatedItems", 2019],
  ["unevaluatedProperties", 2019],
]);

/** Keywords that assert something, or that other keywords refer to. */
const enforced = new Set([
  ...nestings.keys(),
  ...since.keys(),
  "$ref",
  "enum",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "format",
  "maxItems",
  "maxLength",
  "maxProperties",
  "maximum",
  "minItems",
  "minLength",
  "minProperties",
  "minimum",
  "multipleOf",
  "pattern",
  "required",
  "type",
  "uniqueItems",
]);

/** Keywords that every draft ignores when a value is validated. */
const annotations = new Set([
  "$comment",
  "$id",
  "$schema",
  "$vocabulary",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "default",
  "deprecated",
  "description",
  "examples",
  "readOnly",
  "title",
  "writeOnly",
]);

/** Returns whether `keyword` is enforced in schemas of `draft`. */
export function isEnforced(keyword: string, draft: Draft): boolean {
  return enforced.has(keyword) && draft >= (since.get(keyword) ?? 4);
}

/** Returns whether `keyword` is known in `draft` and asserts nothing. */
export function isAnnotation(keyword: string, draft: Draft): boolean {
  return annotations.has(keyword) || (keyword === "id" && draft === 4);
}
