import type { Caller } from "../security/keys.ts";
import type { Services } from "../services.ts";
import type { ApiForm } from "./apiForm.ts";
import { type BodyOf, type FieldTable, parseBody, type Shape, schemaOf } from "./fields.ts";

/** A request, apart from its body. */
export interface Call {
  readonly requestId: string;
  /** The header of W3C's trace context, if the request has a valid one. */
  readonly traceparent: string | undefined;
  /** First path of the route. */
  readonly route: string;
  /** Parts of the path in braces, by name. */
  readonly params: Readonly<Record<string, string>>;
  /** Parameters of the query, by name. If several have one name, the last. */
  readonly query: Readonly<Record<string, string>>;
  readonly caller: Caller;
  readonly services: Services;
  /** Says which model the request uses, for the event of its response. */
  noteModel(name: string): void;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** A route as its API defines it. */
export interface RouteDefinition<Used extends Shape> {
  readonly api: ApiForm;
  readonly method: "GET" | "POST" | "DELETE";
  /** Paths of the same route. Parts in braces are parameters. */
  readonly paths: readonly string[];
  readonly summary: string;
  /** Whether it needs no API key. */
  readonly isPublic?: boolean;
  /** Fields of the body of a POST request. */
  readonly fields?: FieldTable<Used>;
  /** Whether an empty body counts as an empty object. */
  readonly isBodyOptional?: boolean;
  /** Field whose list may be sent as the whole body. */
  readonly listField?: string;
  handle(call: Call, body: BodyOf<Used>): Promise<Response> | Response;
}

/** A route, checked and called with a parsed JSON body. */
export interface Route extends Omit<RouteDefinition<Shape>, "handle" | "listField"> {
  /** Schema of the body, if the route has one. */
  readonly schema: ReturnType<typeof schemaOf> | undefined;
  /** @throws {ApiError} for a body that does not fit; what the handler throws */
  handle(call: Call, body: unknown): Promise<Response>;
}

/** Types a route's handler by its fields. */
export function route<Used extends Shape>(definition: RouteDefinition<Used>): Route {
  const { fields, listField, handle, ...rest } = definition;
  const schema = fields && schemaOf(fields);
  return {
    ...rest,
    ...(fields !== undefined && { fields }),
    schema,
    async handle(call, body) {
      if (schema === undefined) return handle(call, {} as BodyOf<Used>);
      return handle(call, parseBody(fields!, schema, listField !== undefined && Array.isArray(body) ? { [listField]: body } : body));
    },
  };
}

/** A JSON response. */
export function json(body: object | readonly object[], status = 200): Response {
  return Response.json(body, { status });
}
