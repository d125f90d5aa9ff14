import { checkOptions } from "@centella/quant/checks";
import type { Context, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { Hono } from "hono/tiny";
import { CallerLoad } from "./admission/callerLoad.ts";
import { ApiError, apiErrorOf } from "./errors.ts";
import { Events } from "./events.ts";
import { formOf } from "./formOf.ts";
import { OpenRequests } from "./generation/openRequests.ts";
import { type HandlerOptions, limitsOf } from "./handlerOptions.ts";
import { bodyOf } from "./http/requestBody.ts";
import type { Route } from "./http/route.ts";
import { reportFailure } from "./http/streamResponse.ts";
import { ModelStore } from "./models/modelStore.ts";
import { routes } from "./routes.ts";
import { checkHost } from "./security/hosts.ts";
import { anyone, type Caller, Keys } from "./security/keys.ts";
import { checkOrigin, isAllowedOrigin } from "./security/origins.ts";
import type { Services } from "./services.ts";
import { milliseconds } from "./times.ts";

/** What a listener knows of a request. */
export interface Connection {
  /** Names of the machine that requests may have in `Host`. Default: any. */
  readonly hosts?: readonly string[] | undefined;
}

/** Options of {@link Handler.close}. */
export interface CloseOptions {
  /** Milliseconds for which open requests may go on. Default 30,000. */
  readonly drainMs?: number | undefined;
}

/** A server without a listener: a function from requests to responses. */
export interface Handler {
  /** Whether requests need an API key. */
  readonly hasKeys: boolean;
  readonly events: Events;
  fetch(request: Request, connection?: Connection): Promise<Response>;
  /** Refuses further requests with status 503, waits for the open ones, and disposes of the models that the handler has loaded. */
  close(options?: CloseOptions): Promise<void>;
}

interface Variables {
  readonly requestId: string;
  readonly caller: Caller;
  readonly route: string;
  readonly model: string;
  readonly error: ApiError;
}

interface Environment {
  readonly Bindings: Connection;
  readonly Variables: Variables;
}

type RequestContext = Context<Environment>;

/**
 * Creates a handler for the APIs of OpenAI, Anthropic, Ollama and llama-server.
 * @throws {ArgumentError} for an unknown option or a value outside its range
 */
export function createHandler(options: HandlerOptions): Handler {
  const limits = limitsOf(options);
  const events = new Events();
  const { metrics } = options;
  if (metrics !== undefined) events.subscribe((event) => metrics.record(event));
  const models = new ModelStore(options.models, options.library, limits, events);
  const services: Services = {
    models,
    events,
    limits,
    metrics,
    pooling: options.pooling,
    slotStore: options.slotStore,
    callers: new CallerLoad(),
    open: new OpenRequests(),
    defaults: options.defaults ?? {},
    emitsPrompts: options.emitsPrompts === true,
    isDraining: false,
  };
  const keys = new Keys(options.keys ?? []);
  const app = appOf(services, keys, options);
  return {
    hasKeys: !keys.isEmpty,
    events,
    fetch: async (request, connection = {}) => app.fetch(request, connection),
    async close(options = {}) {
      const { drainMs = 30_000 } = checkOptions("close", options, { drainMs: milliseconds(0) });
      await close(services, drainMs);
    },
  };
}

/** Routes, after what all of them share. A request is checked before its body is read. */
function appOf(services: Services, keys: Keys, { hosts, corsOrigins = [] }: HandlerOptions): Hono<Environment> {
  const { events } = services;
  const app = new Hono<Environment>();
  app.use(observer(events, keys));
  app.use(
    cors({
      origin: (origin) => (isAllowedOrigin(origin, corsOrigins) ? origin : null),
      exposeHeaders: ["x-request-id", "retry-after"],
    }),
  );
  app.use(guard(keys, hosts, corsOrigins));
  for (const route of routes)
    app.on(
      route.method,
      route.paths.map((path) => path.replace(/\{(\w+)\}/g, ":$1{.+}")),
      (c) => respond(c, route, services),
    );
  app.notFound((c) => failed(c, new ApiError(404, "not_found", `expected a path of this server, got ${c.req.method} ${c.req.path}`)));
  app.onError((error, c) => failed(c, error, events));
  return app;
}

/** Paths that need no key. */
const publicPaths: ReadonlySet<string> = new Set(routes.flatMap(({ isPublic, paths }) => (isPublic ? paths : [])));

/** Gives each request an id, and reports its response. */
function observer(events: Events, keys: Keys): MiddlewareHandler<Environment> {
  return async (c, next) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(c.req.raw);
    c.set("requestId", requestId);
    await next();
    c.header("x-request-id", requestId);
    const caller: Caller | undefined = c.get("caller");
    const error: ApiError | undefined = c.get("error");
    events.emit({
      type: "response",
      requestId,
      method: c.req.method,
      route: c.get("route") ?? "unknown",
      model: c.get("model"),
      status: c.res.status,
      key: keys.isEmpty ? undefined : caller?.name,
      error: error?.code,
      durationMs: performance.now() - startedAt,
      traceparent: traceparentOf(c.req.raw),
    });
  };
}

/** Checks the host, the origin and the key. */
function guard(keys: Keys, given: readonly string[] | undefined, corsOrigins: readonly string[]): MiddlewareHandler<Environment> {
  return async (c, next) => {
    const hosts = given ?? c.env?.hosts;
    if (hosts !== undefined) checkHost(c.req.raw, hosts);
    checkOrigin(c.req.raw, corsOrigins);
    if (!publicPaths.has(c.req.path)) c.set("caller", await keys.callerOf(c.req.raw));
    await next();
  };
}

/** The client's own id, if it is harmless in logs, or a new one. */
function requestIdOf({ headers }: Request): string {
  const given = headers.get("x-request-id");
  return given !== null && /^[\w.-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}

/** Version, trace, parent and flags. The version ff and ids of zeros are invalid. */
const traceContext = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The request's trace context, if it is valid. */
function traceparentOf({ headers }: Request): string | undefined {
  const given = headers.get("traceparent");
  return given !== null && traceContext.test(given) ? given : undefined;
}

async function respond(c: RequestContext, route: Route, services: Services): Promise<Response> {
  c.set("route", route.paths[0]!);
  if (services.isDraining && !route.isPublic)
    throw new ApiError(503, "draining", "expected a server that accepts requests, got one that is shutting down", { retryAfter: 5 });
  const body = route.schema === undefined ? undefined : await bodyOf(c.req.raw, route, services.limits.maxBody);
  const { signal } = c.req.raw;
  const caller: Caller | undefined = c.get("caller");
  const params = Object.fromEntries(Object.entries(c.req.param()).map(([name, value]) => [name, String(value)]));
  const query = Object.fromEntries(new URL(c.req.url).searchParams);
  const requestId = c.get("requestId");
  const traceparent = traceparentOf(c.req.raw);
  const noteModel = (name: string): void => c.set("model", name);
  return route.handle(
    { requestId, traceparent, route: route.paths[0]!, params, query, caller: caller ?? anyone, services, noteModel, signal },
    body,
  );
}

function failed(c: RequestContext, thrown: unknown, events?: Events): Response {
  const error = apiErrorOf(thrown);
  const requestId = c.get("requestId");
  c.set("error", error);
  if (events !== undefined) reportFailure(events, requestId, error);
  const headers = error.retryAfter === undefined ? {} : { "retry-after": String(error.retryAfter) };
  return Response.json(formOf(c.req.path).error(error, requestId), { status: error.status, headers });
}

async function close(services: Services, drainMs: number): Promise<void> {
  services.isDraining = true;
  await services.open.drain(drainMs);
  await services.models.close();
}
