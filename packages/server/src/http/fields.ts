import * as z from "zod/mini";
import { ApiError, type ApiErrorCode } from "../errors.ts";

/** Schemas by the names of fields. */
export type Shape = Readonly<Record<string, z.ZodMiniType>>;

/** Every field of a request. Other fields are refused. A field that is null counts as absent. */
export interface FieldTable<Used extends Shape = Shape> {
  /** Fields that have an effect. */
  readonly used: Used;
  /** Fields that are accepted without effect. */
  readonly ignored?: Shape;
  /** Fields that are refused by name, with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
}

/** The fields that have an effect, as a handler gets them. */
export type BodyOf<Used extends Shape> = z.output<z.ZodMiniObject<Used>>;

/** The message of what has none of its own. {@link errorOf} writes one. */
const noMessage = "Invalid input";

/** How values are checked. Other code may set messages of zod for the whole process, as the first schema of `"zod"` does; these are not the server's. */
export const checking = { reportInput: true, error: () => noMessage } as const;

/** The schema of a request: what checks it, and what `openapi.json` shows. */
export function schemaOf<Used extends Shape>({ used, ignored = {}, refused = {} }: FieldTable<Used>): z.ZodMiniObject {
  const never = (reason: string): z.ZodMiniType => z.optional(z.never({ error: `unsupported: ${reason}` }));
  return z.strictObject({
    ...used,
    ...ignored,
    ...Object.fromEntries(Object.entries(refused).map(([name, reason]) => [name, never(reason)])),
  });
}

/**
 * Checks a request.
 * @throws {ApiError} 400 with the field that is wrong
 */
export function parseBody<Used extends Shape>(table: FieldTable<Used>, schema: z.ZodMiniObject, body: unknown): BodyOf<Used> {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new ApiError(400, "invalid_json", `body: expected a JSON object, got ${kindOf(body)}`);
  const given = body as Readonly<Record<string, unknown>>;
  const fields = schema.shape as Shape;
  const checked: Record<string, unknown> = {};
  // The schema as a whole would allocate for every field, also for those that are absent: a third of a request's garbage.
  for (const name in fields) {
    const value = given[name] ?? undefined;
    const field = fields[name]!;
    if (value === undefined && field._zod.optin !== undefined) continue;
    const result = field.safeParse(value, checking);
    if (!result.success) throw errorOf(result.error.issues[0]!, name, table);
    if (Object.hasOwn(table.used, name)) checked[name] = result.data;
  }
  for (const name in given) if (given[name] !== null && !Object.hasOwn(fields, name)) throw unknownError([name]);
  return checked as BodyOf<Used>;
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

function unknownError(path: Path): ApiError {
  const param = textOf(path);
  return new ApiError(400, "unknown_parameter", `${param}: expected a field that this server knows, got ${param}; leave it out`, { param });
}

/** What is wrong with a field. */
function errorOf(issue: Issue, name: string, { refused = {} }: FieldTable): ApiError {
  const { issue: found, path } = deepest(issue, [name, ...issue.path]);
  if (found.code === "unrecognized_keys") return unknownError([...path, found.keys[0]!]);
  const param = textOf(path);
  const isRefused = path.length === 1 && Object.hasOwn(refused, path[0]!);
  const code: ApiErrorCode = isRefused ? "unsupported_parameter" : isMissing(found) ? "missing_parameter" : "invalid_value";
  return new ApiError(400, code, messageOf(found, param), { param });
}

function isMissing(issue: Issue): boolean {
  return issue.code === "invalid_type" && issue.input === undefined;
}

function messageOf(issue: Issue, param: string): string {
  if (issue.message !== noMessage) return `${param}: ${issue.message}`;
  return `${param}: expected ${expectationOf(issue)}, got ${kindOf(issue.input)}`;
}

/** The issue that says most: of a union, that of the choice which fits best. */
function deepest(issue: Issue, path: Path): { readonly issue: Issue; readonly path: Path } {
  if (issue.code !== "invalid_union" || issue.message !== noMessage) return { issue, path };
  const inner = issue.errors.flatMap(([first]) => (first === undefined ? [] : [deepest(first, [...path, ...first.path])]));
  const best = inner.reduce((a, b) => (b.path.length > a.path.length ? b : a), { issue, path });
  const wrongValue = inner.find(({ issue: { code } }) => code !== "invalid_type");
  return best.issue === issue && wrongValue !== undefined ? wrongValue : best;
}

function expectationOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return nounOf(issue.expected);
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(" or ");
    case "too_small":
      return issue.minimum === 1 && issue.origin !== "number" && issue.origin !== "int"
        ? "a value that is not empty"
        : `${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_union":
      return [...new Set(issue.errors.flatMap((errors) => errors.slice(0, 1)).map(expectationOf))].join(" or ") || "a known value";
    default:
      return "another value";
  }
}

function unitOf(origin: string): string {
  return { array: " elements", string: " characters" }[origin] ?? "";
}

function nounOf(type: string): string {
  return (
    { int: "a whole number", array: "a list", object: "an object", record: "an object", boolean: "true or false", never: "nothing" }[
      type
    ] ?? `a ${type}`
  );
}

/** Kind of a value, without its content unless it is short. */
function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return value.length > 40 ? `a string of ${value.length} characters` : JSON.stringify(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return "an object";
}

/** A path as in JavaScript: `messages[0].content`. */
function textOf(path: Path): string {
  return path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? String(key) : `.${String(key)}`)).join("");
}
