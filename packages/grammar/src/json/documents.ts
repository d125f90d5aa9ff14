import type { Meter } from "../budget.ts";
import { GrammarError, type GrammarErrorCode } from "../errors.ts";
import { type Draft, draftOf, isAnnotation, isEnforced, nestings } from "./keywords.ts";

/** A JSON Schema: `true`, `false` or an object of keywords. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** One schema of a document, with what its keywords mean there. */
export interface SchemaNode {
  readonly id: number;
  readonly schema: JsonSchema;
  readonly draft: Draft;
  /** URI against which references of this schema are resolved. */
  readonly base: string;
  readonly parent: SchemaNode | undefined;
  /** Path from `parent` to this schema. */
  readonly path: readonly string[];
}

/** A keyword that has no effect on the texts accepted. */
export interface SchemaWarning {
  /** JSON pointer of the schema that has the keyword. */
  readonly pointer: string;
  readonly keyword: string;
  readonly reason: string;
}

/** Levels of schemas inside schemas. Real schemas stay below 50. */
const maximumNesting = 1000;

/** Estimated bytes of a schema with its entries in tables. */
const nodeBytes = 200;
const rootUri = "json-schema:///";

/** Returns the JSON pointer of `node`, followed by `path`. */
export function pointerOf(node: SchemaNode | undefined, path: readonly string[] = []): string {
  const keys = [...path];
  for (let at = node; at !== undefined; at = at.parent) keys.unshift(...at.path);
  return keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Returns an error at `keyword` of `node`: what was expected, or why the keyword is refused. */
export function schemaError(code: GrammarErrorCode, node: SchemaNode | undefined, keyword: string, reason: string): GrammarError {
  const pointer = pointerOf(node);
  return new GrammarError(code, `fromJsonSchema: ${keyword} of the schema at "${pointer}": ${reason}`, { pointer, keyword, reason });
}

/** Returns whether `value` is a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schemas of one document, and the URIs and anchors by which references find them. */
export class Documents {
  readonly warnings: { readonly node: SchemaNode; readonly keyword: string; readonly reason: string }[] = [];
  readonly root: SchemaNode;
  readonly #nodes = new Map<object, SchemaNode>();
  readonly #meter: Meter;
  #nextId = 0;
  /** Schemas by URI, with their anchor as fragment where they have one. */
  readonly #byUri = new Map<string, SchemaNode>();
  /** Whether some schema has `unevaluatedProperties` or `unevaluatedItems`. */
  hasUnevaluated = false;
  /** Number of schemas per `$dynamicAnchor`. The empty name stands for `$recursiveAnchor`. */
  readonly #dynamicAnchors = new Map<string, number>();

  constructor(schema: unknown, meter: Meter) {
    this.#meter = meter;
    if (typeof schema !== "boolean" && !isObject(schema)) {
      throw schemaError("GRAMMAR_SYNTAX", undefined, "schema", "expected an object or a boolean");
    }
    const draft = isObject(schema) ? (draftOf(schema.$schema) ?? 2020) : 2020;
    this.root = this.#enter(schema, draft, rootUri, undefined, []);
    this.#byUri.set(this.root.base, this.root);
    this.#byUri.set(rootUri, this.root);
  }

  /** Returns the schema `value`, which is found at `path` below `parent`. */
  node(value: unknown, parent: SchemaNode, path: readonly [keyword: string, ...string[]]): SchemaNode {
    if (typeof value === "boolean") return this.#create(value, parent.draft, parent.base, parent, path);
    if (!isObject(value)) throw schemaError("GRAMMAR_SYNTAX", parent, path[0], "expected a schema (an object or a boolean)");
    return this.#nodes.get(value) ?? this.#enter(value, parent.draft, parent.base, parent, path);
  }

  /** Returns a schema that says in other keywords what `parent` says at `path`. */
  synthetic(schema: JsonSchema, parent: SchemaNode, path: readonly string[]): SchemaNode {
    return this.#enter(schema, 2020, parent.base, parent, path);
  }

  /** Records that a keyword has no effect. */
  warn(node: SchemaNode, keyword: string, reason: string): void {
    this.warnings.push({ node, keyword, reason });
  }

  /** Returns the schema to which the keyword `$ref` or `$dynamicRef` of `node` refers. */
  resolve(node: SchemaNode, keyword: string, reference: unknown): SchemaNode {
    if (typeof reference !== "string") throw schemaError("GRAMMAR_SYNTAX", node, keyword, "expected a string");
    const uri = resolveUri(reference, node.base);
    if (uri === undefined) throw schemaError("GRAMMAR_SYNTAX", node, keyword, `expected a URI reference, got "${reference}"`);
    const [resource, fragment] = splitFragment(uri);
    const found = fragment === "" || fragment.startsWith("/") ? this.#byUri.get(resource) : this.#byUri.get(uri);
    if (found === undefined) {
      const known = this.#byUri.has(resource);
      const reason = known
        ? `"${reference}" names no schema of this document`
        : `"${reference}" is outside this document; only local references are resolved`;
      throw schemaError("GRAMMAR_REFERENCE", node, keyword, reason);
    }
    return fragment.startsWith("/") ? this.#follow(found, fragment, node, keyword) : found;
  }

  /** Returns whether `$dynamicRef` or `$recursiveRef` to `target` depends on the path by which it was reached. */
  isDynamic(target: SchemaNode): boolean {
    return dynamicAnchorsOf(target.schema).some((anchor) => (this.#dynamicAnchors.get(anchor) ?? 0) > 1);
  }

  #follow(resource: SchemaNode, pointer: string, node: SchemaNode, keyword: string): SchemaNode {
    const keys = pointer.slice(1).split("/");
    let at: unknown = resource.schema;
    let nearest = resource;
    let path: string[] = [];
    for (const escaped of keys) {
      const key = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) {
        throw schemaError("GRAMMAR_REFERENCE", node, keyword, `there is nothing at "${pointer}"`);
      }
      at = (at as Readonly<Record<string, unknown>>)[key];
      path.push(key);
      const known = isObject(at) ? this.#nodes.get(at) : undefined;
      if (known !== undefined) {
        nearest = known;
        path = [];
      }
    }
    const [first, ...rest] = path;
    return first === undefined ? nearest : this.node(at, nearest, [first, ...rest]);
  }

  /** Enters `value` and all schemas inside, iteratively: nesting is bounded by the error, not by the stack. */
  #enter(value: JsonSchema, draft: Draft, base: string, parent: SchemaNode | undefined, path: readonly string[]): SchemaNode {
    const first = this.#add(value, draft, base, parent, path);
    const open: (readonly [SchemaNode, number])[] = [[first, 0]];
    for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
      const [node, depth] = entry;
      if (depth > maximumNesting) {
        throw schemaError("GRAMMAR_BUDGET", undefined, "schema", `expected at most ${maximumNesting} schemas inside each other, got more`);
      }
      for (const [child, childPath] of childrenOf(node)) {
        if (this.#nodes.has(child)) continue;
        open.push([this.#add(child, node.draft, node.base, node, childPath), depth + 1]);
      }
    }
    return first;
  }

  /** Records the memory and work of what a keyword says. @throws {GrammarError} `GRAMMAR_BUDGET` */
  charge({ bytes, steps }: { readonly bytes: number; readonly steps: number }): void {
    this.#meter.charge(bytes);
    this.#meter.work(steps);
  }

  #create(schema: JsonSchema, draft: Draft, base: string, parent: SchemaNode | undefined, path: readonly string[]): SchemaNode {
    this.#meter.charge(nodeBytes);
    return { id: this.#nextId++, schema, draft, base, parent, path };
  }

  #add(schema: JsonSchema, inherited: Draft, outer: string, parent: SchemaNode | undefined, path: readonly string[]): SchemaNode {
    if (typeof schema === "boolean") return this.#create(schema, inherited, outer, parent, path);
    const draft = draftOf(schema.$schema) ?? inherited;
    const identifier = identifierOf(schema, draft);
    const uri = identifier === undefined ? undefined : resolveUri(identifier, outer);
    const [resource, fragment] = uri === undefined ? [outer, ""] : splitFragment(uri);
    const node = this.#create(schema, draft, resource, parent, path);
    this.#nodes.set(schema, node);
    if (uri !== undefined) this.#byUri.set(fragment === "" ? resource : uri, node);
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const anchor = schema[keyword];
      if (typeof anchor === "string" && isEnforced(keyword, draft)) this.#byUri.set(`${resource}#${anchor}`, node);
    }
    for (const anchor of dynamicAnchorsOf(schema)) this.#dynamicAnchors.set(anchor, (this.#dynamicAnchors.get(anchor) ?? 0) + 1);
    this.hasUnevaluated ||= schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined;
    this.#warnOfUnknown(node, schema);
    return node;
  }

  #warnOfUnknown(node: SchemaNode, schema: Readonly<Record<string, unknown>>): void {
    for (const keyword of Object.keys(schema)) {
      if (isEnforced(keyword, node.draft) || isAnnotation(keyword, node.draft)) continue;
      this.warn(node, keyword, "unknown keyword, ignored");
    }
    if (schema.$schema !== undefined && draftOf(schema.$schema) === undefined) {
      this.warn(node, "$schema", `unknown metaschema, read as draft ${node.draft}`);
    }
  }
}

/** Yields the schema objects directly inside `node` with their paths. */
function* childrenOf(node: SchemaNode): Generator<readonly [Readonly<Record<string, unknown>>, string[]]> {
  if (typeof node.schema === "boolean") return;
  for (const [keyword, value] of Object.entries(node.schema)) {
    const nesting = nestings.get(keyword);
    if (nesting === undefined || !isEnforced(keyword, node.draft)) continue;
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) if (isObject(value[i])) yield [value[i], [keyword, String(i)]];
    } else if (isObject(value)) {
      if (nesting === "schema" || nesting === "schemaOrList") yield [value, [keyword]];
      else for (const [name, child] of Object.entries(value)) if (isObject(child)) yield [child, [keyword, name]];
    }
  }
}

/** Returns the names by which references find a schema depending on the path: its `$dynamicAnchor`, and the empty name for `$recursiveAnchor`. */
function dynamicAnchorsOf(schema: JsonSchema): string[] {
  if (typeof schema === "boolean") return [];
  const { $dynamicAnchor, $recursiveAnchor } = schema;
  return [...(typeof $dynamicAnchor === "string" ? [$dynamicAnchor] : []), ...($recursiveAnchor === true ? [""] : [])];
}

/** Returns the `$id` of a schema. Up to draft 7, a `$ref` hides its siblings. */
function identifierOf(schema: Readonly<Record<string, unknown>>, draft: Draft): string | undefined {
  if (draft <= 7 && schema.$ref !== undefined) return undefined;
  const identifier = draft === 4 ? schema.id : schema.$id;
  return typeof identifier === "string" ? identifier : undefined;
}

function resolveUri(reference: string, base: string): string | undefined {
  try {
    return new URL(reference, base).href;
  } catch {
    return undefined;
  }
}

function splitFragment(uri: string): readonly [resource: string, fragment: string] {
  const hash = uri.indexOf("#");
  if (hash === -1) return [uri, ""];
  try {
    return [uri.slice(0, hash), decodeURIComponent(uri.slice(hash + 1))];
  } catch {
    return [uri.slice(0, hash), uri.slice(hash + 1)];
  }
}
