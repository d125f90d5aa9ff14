import { ArgumentError } from "@centella/quant";
import { checkOptions, type Kinds, kind } from "@centella/quant/checks";
import { ApiError } from "../errors.ts";
import { formOf } from "../formOf.ts";
import { Connection } from "./connection.ts";
import type { ServiceWorkerScope } from "./scope.ts";

/** Options of {@link forwardRequests}. */
export interface ForwardOptions {
  /** Start of the paths that are answered, with slashes at both ends. Default `/v1/`. */
  readonly path?: string | undefined;
}

const kinds: Kinds<ForwardOptions> = {
  path: kind("a text with slashes at both ends", (value) => typeof value === "string" && /^\/(.*\/)?$/.test(value)),
};

/**
 * Answers requests for these paths of the service worker's own origin by the models of an open page, which calls `offerWorker`. Without one,
 * they get status 503. Call it when the service worker's script starts.
 * @throws {ArgumentError} for wrong options, and if this is not a service worker
 */
export function forwardRequests(options: ForwardOptions = {}): void {
  const { path = "/v1/" } = checkOptions("forwardRequests", options, kinds);
  if (!("clients" in globalThis))
    throw new ArgumentError("forwardRequests", "a service worker", "another thread", "call it in the script of a service worker");
  const scope = globalThis as unknown as ServiceWorkerScope;
  scope.addEventListener("fetch", (event) => {
    const { origin, pathname } = new URL(event.request.url);
    if (origin !== scope.location.origin || !pathname.startsWith(path)) return;
    event.waitUntil(
      new Promise<void>((end) => {
        const response = forward(event.request, scope, end);
        response.catch(() => end());
        event.respondWith(response);
      }),
    );
  });
}

/** Calls `end` when the whole response was sent. @throws if the page leaves before its whole request was read */
async function forward(request: Request, { clients }: ServiceWorkerScope, end: () => void): Promise<Response> {
  // Read before anything else: the page may leave, and its body with it.
  const body = await bodyOf(request);
  const connection = await Connection.open(clients);
  const close = (): void => {
    connection?.close();
    end();
  };
  request.signal.addEventListener("abort", close);
  if (request.signal.aborted) close();
  connection?.send({ type: "request", method: request.method, url: request.url, headers: [...request.headers], body });
  const head = await connection?.receive();
  if (connection !== undefined && head?.type === "response") {
    const { status, hasBody } = head;
    if (!hasBody) close();
    const headers = head.headers.map(([name, value]): [string, string] => [name, value]);
    return new Response(hasBody ? chunksOf(connection, close) : null, { status, headers });
  }
  close();
  return unavailable(request);
}

async function bodyOf(request: Request): Promise<ArrayBuffer | undefined> {
  return request.method === "GET" || request.method === "HEAD" ? undefined : request.arrayBuffer();
}

/** The body of a response in chunks. Each is asked for when the one before was read. */
function chunksOf(connection: Connection, close: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      connection.send({ type: "more" });
      const reply = await connection.receive();
      if (reply.type === "chunk") {
        controller.enqueue(reply.bytes);
        return;
      }
      close();
      if (reply.type === "end") controller.close();
      else controller.error(new TypeError("the page with the model was closed"));
    },
    cancel: close,
  });
}

function unavailable(request: Request): Response {
  const error = new ApiError(503, "no_client", "expected an open page that offers a model, got none; open it and try again");
  const body = formOf(new URL(request.url).pathname).error(error, crypto.randomUUID());
  return Response.json(body, { status: error.status, headers: { "retry-after": "1" } });
}
