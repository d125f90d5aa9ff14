import { isObject, type SchemaNode, schemaError } from "./documents.ts";

/** Returns a keyword's list. @throws {GrammarError} `GRAMMAR_SYNTAX` for other values */
export function listOf(node: SchemaNode, keyword: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw schemaError("GRAMMAR_SYNTAX", node, keyword, "expected an array");
  // Holes, which no JSON has, become undefined.
  return Array.from(value);
}

/** Returns a list of strings. @throws {GrammarError} `GRAMMAR_SYNTAX` for other values */
export function namesOf(node: SchemaNode, keyword: string, value: unknown): readonly string[] {
  return listOf(node, keyword, value).map((name) => stringOf(node, keyword, name));
}

/** Returns the entries of an object. @throws {GrammarError} `GRAMMAR_SYNTAX` for other values */
export function entriesOf(node: SchemaNode, keyword: string, value: unknown): [string, unknown][] {
  if (!isObject(value)) throw schemaError("GRAMMAR_SYNTAX", node, keyword, "expected an object");
  return Object.entries(value);
}

/** Returns a string. @throws {GrammarError} `GRAMMAR_SYNTAX` for other values */
export function stringOf(node: SchemaNode, keyword: string, value: unknown): string {
  if (typeof value !== "string") throw schemaError("GRAMMAR_SYNTAX", node, keyword, "expected a string");
  return value;
}

/** Returns a finite number. @throws {GrammarError} `GRAMMAR_SYNTAX` for other values */
export function numberOf(node: SchemaNode, keyword: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw schemaError("GRAMMAR_SYNTAX", node, keyword, "expected a number");
  return value;
}

/** Returns a whole number from 0. @throws {GrammarError} `GRAMMAR_SYNTAX` for other values */
export function countOf(node: SchemaNode, keyword: string, value: unknown): number {
  const count = numberOf(node, keyword, value);
  if (!Number.isInteger(count) || count < 0) throw schemaError("GRAMMAR_SYNTAX", node, keyword, "expected a whole number of at least 0");
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
