import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ArgumentError } from "@centella/quant";
import { boolean, checkOptions, describe, type Kinds, listOf, nonEmptyString, whole } from "@centella/quant/checks";
import type { CloseOptions, Handler } from "../handler.ts";
import { isLoopback, loopbackHosts } from "../security/hosts.ts";
import { milliseconds } from "../times.ts";

/** Options of {@link serve}. Times are in milliseconds. */
export interface ListenOptions {
  /** Default: the machine itself, `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default 8080. 0 is a free port. */
  readonly port?: number | undefined;
  /** Path of a Unix socket, in place of host and port. */
  readonly socket?: string | undefined;
  /** Listen on other hosts without API keys. Default false. */
  readonly isOpen?: boolean | undefined;
  /** Host names that requests may have in `Host`. Default: those of the machine itself, if it is the host; otherwise any. */
  readonly hosts?: readonly string[] | undefined;
  /** Connections at the same time; more are closed at once. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** Longest time for the headers of a request. Default 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Longest time for a whole request. Default 60,000. */
  readonly bodyTimeoutMs?: number | undefined;
  /**
   * Time for which a connection without a request stays open. It must be longer than that of a proxy, which otherwise may send a request on a
   * connection that is being closed. Default 130,000: Caddy keeps connections for two minutes.
   */
  readonly idleTimeoutMs?: number | undefined;
}

/** A server that listens. */
export interface Listener {
  /** `http://127.0.0.1:8080`, or the path of the socket. */
  readonly url: string;
  /** Closes the handler while `/health` says that the server drains, then stops to listen. */
  close(options?: CloseOptions): Promise<void>;
}

const kinds: Kinds<ListenOptions> = {
  host: nonEmptyString,
  port: whole(0, 65_535),
  socket: nonEmptyString,
  isOpen: boolean,
  hosts: listOf("host names", nonEmptyString),
  maxConnections: whole(1),
  headersTimeoutMs: milliseconds(1),
  bodyTimeoutMs: milliseconds(1),
  idleTimeoutMs: milliseconds(1),
};

/**
 * Listens for requests.
 * @throws {ArgumentError} for a host that others can reach, without API keys and without `isOpen`; the error of listening
 */
export async function serve(handler: Handler, options: ListenOptions = {}): Promise<Listener> {
  checkOptions("serve", options, kinds);
  const { host = "127.0.0.1", port = 8080, socket, isOpen = false, maxConnections = 10_000 } = options;
  const isLocal = socket !== undefined || isLoopback(host);
  if (!isLocal && !handler.hasKeys && !isOpen)
    throw new ArgumentError("serve", "API keys for a host that others can reach", describe(host), "pass keys, or isOpen: true");
  const hosts = options.hosts ?? (socket === undefined && isLocal ? loopbackHosts : undefined);
  const { headersTimeoutMs = 10_000, bodyTimeoutMs = 60_000, idleTimeoutMs = 130_000 } = options;
  const late = new LateListener(handler, hosts);
  const timeouts = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: bodyTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
  };
  const server = createServer(timeouts, late.listener);
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket === undefined ? { host, port } : { path: socket }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  // After what the caller does first, such as printing the URL. A request reports a failure.
  setImmediate(() => void late.load().catch(() => undefined));
  return { url: urlOf(server, host), close: (closing = {}) => close(server, handler, closing) };
}

/**
 * Answers requests with code that is loaded once the server listens, or with the first request. It needs Node's `Request`, and with it
 * HTTP/2 and TLS, which take 30 ms to load.
 */
class LateListener {
  readonly #handler: Handler;
  readonly #hosts: readonly string[] | undefined;
  #loading: Promise<RequestListener> | undefined;
  #listener: RequestListener | undefined;

  constructor(handler: Handler, hosts: readonly string[] | undefined) {
    this.#handler = handler;
    this.#hosts = hosts;
  }

  /** Loads the code, once. */
  load(): Promise<RequestListener> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  readonly listener: RequestListener = (request, response) => {
    if (this.#listener !== undefined) this.#listener(request, response);
    else
      this.load().then(
        (listener) => listener(request, response),
        (error) => response.destroy(error),
      );
  };

  async #load(): Promise<RequestListener> {
    const { requestListener } = await import("./requestListener.ts");
    this.#listener = requestListener(this.#handler, this.#hosts);
    return this.#listener;
  }
}

function urlOf(server: Server, host: string): string {
  const address = server.address() as AddressInfo | string;
  if (typeof address === "string") return address;
  return `http://${host.includes(":") ? `[${host.replace(/[[\]]/g, "")}]` : host}:${address.port}`;
}

/** Milliseconds for the last bytes of responses. */
const lingerMs = 1000;

async function close(server: Server, handler: Handler, options: CloseOptions): Promise<void> {
  await handler.close(options);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), lingerMs);
  await closed;
  clearTimeout(timer);
}
