import { ArgumentError, DeviceLostError } from "@centella/core";

/** A `Worker` of a browser, of Node (`node:worker_threads`), Deno or Bun. */
export interface ModelWorker {
  /** The types of transferable values differ between browsers and Node. */
  postMessage(message: unknown, transfer: never[]): void;
}

/** Sent by a worker that serves models: when it begins to, and in reply to {@link Hello}. */
interface Ready {
  readonly centella: "ready";
  /** Name of the lock that the worker holds until it ends. */
  readonly life: string | undefined;
}

/** A connection to a worker. */
export interface Connection {
  readonly port: MessagePort;
  /** As in {@link Ready}. */
  readonly life: string | undefined;
}

/** Asks a worker whether it serves models. */
interface Hello {
  readonly centella: "hello";
}

/** Opens a channel for one model. */
interface Connect {
  readonly centella: "connect";
  readonly port: MessagePort;
}

export function isHello(message: unknown): message is Hello {
  return messageType(message) === "hello";
}

export function isConnect(message: unknown): message is Connect {
  return messageType(message) === "connect";
}

/** Type of one of the messages above. Other messages are ignored: a worker may have further purposes. */
function messageType(message: unknown): unknown {
  return typeof message === "object" && message !== null && "centella" in message ? message.centella : undefined;
}

/** A worker's connection to the thread that started it. */
interface Endpoint {
  post(message: Ready): void;
  listen(take: (message: unknown) => void): void;
}

/** The event methods of browsers and of Node. */
interface Emitter {
  addEventListener?(name: string, listener: (event: Event) => void): void;
  removeEventListener?(name: string, listener: (event: Event) => void): void;
  on?(name: string, listener: (value: unknown) => void): void;
  off?(name: string, listener: (value: unknown) => void): void;
}

/** Sends and receives a worker's own messages. */
interface Parent extends Emitter {
  postMessage(message: Ready): void;
}

/** @throws {ArgumentError} if this thread is not a worker */
export function endpointOfWorker(): Endpoint {
  const parent = parentOfWorker();
  if (parent === undefined)
    throw new ArgumentError("serveModels", "a worker", "a page's or process's main thread", "call it in the script of a Worker");
  return {
    post: (message) => parent.postMessage(message),
    listen: (take) => void subscribe(parent, "message", take),
  };
}

/** Node's port to the parent, or the global scope of a browser's worker. Unlike a worker, a page has a document. */
function parentOfWorker(): Parent | undefined {
  const scope: object = globalThis;
  const { process } = scope as { process?: { getBuiltinModule?(name: string): { readonly parentPort?: Parent | null } } };
  const port = process?.getBuiltinModule?.("node:worker_threads").parentPort;
  return port ?? ("postMessage" in scope && !("document" in scope) ? (scope as Parent) : undefined);
}

/** Calls `take` with an event's message data or error. Returns a function that unsubscribes. */
function subscribe(target: Emitter, name: string, take: (value: unknown) => void): () => void {
  if (target.addEventListener === undefined) {
    target.on?.(name, take);
    return () => void target.off?.(name, take);
  }
  const listener = (event: Event): void => take("data" in event ? event.data : "message" in event ? event.message : event);
  target.addEventListener(name, listener);
  return () => void target.removeEventListener?.(name, listener);
}

/** Time limit of a reply. A script that does not call `serveModels` never replies, and nothing else would show it. */
const answerSeconds = 60;

/**
 * Waits until a worker serves models and opens a channel to it.
 * @throws {DeviceLostError} if the worker ends or fails first, or does not reply within a minute; the signal's reason
 */
export async function connect(worker: ModelWorker, signal: AbortSignal | undefined): Promise<Connection> {
  const emitter = worker as Emitter;
  const ends: (() => void)[] = [];
  try {
    const life = await new Promise<string | undefined>((resolve, reject) => {
      const fail = (reason: string) => reject(new DeviceLostError("worker", reason));
      const abort = (): void => reject(signal?.reason as Error);
      signal?.addEventListener("abort", abort);
      const silent = `it has not answered in ${answerSeconds} seconds: its script must call serveModels`;
      const timer = setTimeout(() => fail(silent), 1000 * answerSeconds);
      ends.push(
        () => clearTimeout(timer),
        () => signal?.removeEventListener("abort", abort),
        subscribe(emitter, "message", (message) => {
          if (messageType(message) === "ready") resolve((message as Ready).life);
        }),
        subscribe(emitter, "error", (error) => fail(`its script failed: ${error instanceof Error ? error.message : String(error)}`)),
        subscribe(emitter, "exit", () => fail("it ended before it served models")),
      );
      worker.postMessage({ centella: "hello" } satisfies Hello, []);
    });
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ centella: "connect", port: port2 } satisfies Connect, [port2 as never]);
    return { port: port1, life };
  } finally {
    for (const end of ends) end();
  }
}
