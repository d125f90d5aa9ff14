import { ArgumentError, DeviceLostError } from "@centella/core";

/** A `Worker` of a browser, of Node (`node:worker_threads`), Deno or Bun. */
export interface ModelWorker {
  /** What browsers and Node can transfer has no type in common. */
  postMessage(message: unknown, transfer: never[]): void;
}

/** What a worker says when it serves models, which it may do before or after it is asked. */
interface Ready {
  readonly centella: "ready";
}

interface Hello {
  readonly centella: "hello";
}

/** A channel for one model. */
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

/** Messages may be others', too: a worker can serve more than models. */
function messageType(message: unknown): unknown {
  return typeof message === "object" && message !== null && "centella" in message ? message.centella : undefined;
}

/** The other end of a worker's own messages. */
interface Endpoint {
  post(message: Ready): void;
  listen(take: (message: unknown) => void): void;
}

/** The parts of browsers' and Node's emitters that are used here. */
interface Emitter {
  addEventListener?(name: string, listener: (event: Event) => void): void;
  removeEventListener?(name: string, listener: (event: Event) => void): void;
  on?(name: string, listener: (value: unknown) => void): void;
  off?(name: string, listener: (value: unknown) => void): void;
}

/** What a worker's own messages go through. */
interface Parent extends Emitter {
  postMessage(message: Ready): void;
}

/** @throws {ArgumentError} where this is no worker */
export function endpointOfWorker(): Endpoint {
  const parent = parentOfWorker();
  if (parent === undefined)
    throw new ArgumentError("serveModels", "a worker", "a page's or process's main thread", "call it in the script of a Worker");
  return {
    post: (message) => parent.postMessage(message),
    listen: (take) => void subscribe(parent, "message", take),
  };
}

/** Node's port, where a worker's own scope has no `postMessage`, or a browser's scope, in which pages have a document. */
function parentOfWorker(): Parent | undefined {
  const scope: object = globalThis;
  const { process } = scope as { process?: { getBuiltinModule?(name: string): { readonly parentPort?: Parent | null } } };
  const port = process?.getBuiltinModule?.("node:worker_threads").parentPort;
  return port ?? ("postMessage" in scope && !("document" in scope) ? (scope as Parent) : undefined);
}

/** Calls `take` with what an event brings: a message's data, an error. The result ends that. */
function subscribe(target: Emitter, name: string, take: (value: unknown) => void): () => void {
  if (target.addEventListener === undefined) {
    target.on?.(name, take);
    return () => void target.off?.(name, take);
  }
  const listener = (event: Event): void => take("data" in event ? event.data : "message" in event ? event.message : event);
  target.addEventListener(name, listener);
  return () => void target.removeEventListener?.(name, listener);
}

/** A script that takes longer to answer does not call `serveModels`: nothing else would ever tell. */
const answerSeconds = 60;

/**
 * Opens a channel to a worker that serves models, once it does.
 * @throws {DeviceLostError} if it ends or fails before, or does not answer in a minute; the signal's reason
 */
export async function connect(worker: ModelWorker, signal: AbortSignal | undefined): Promise<MessagePort> {
  const emitter = worker as Emitter;
  const ends: (() => void)[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => reject(new DeviceLostError("worker", reason));
      const abort = (): void => reject(signal!.reason as Error);
      signal?.addEventListener("abort", abort);
      const silent = `it has not answered in ${answerSeconds} seconds: its script must call serveModels`;
      const timer = setTimeout(() => fail(silent), 1000 * answerSeconds);
      ends.push(
        () => clearTimeout(timer),
        () => signal?.removeEventListener("abort", abort),
        subscribe(emitter, "message", (message) => {
          if (messageType(message) === "ready") resolve();
        }),
        subscribe(emitter, "error", (error) => fail(`its script failed: ${error instanceof Error ? error.message : String(error)}`)),
        subscribe(emitter, "exit", () => fail("it ended before it served models")),
      );
      worker.postMessage({ centella: "hello" } satisfies Hello, []);
    });
  } finally {
    for (const end of ends) end();
  }
  const { port1, port2 } = new MessageChannel();
  worker.postMessage({ centella: "connect", port: port2 } satisfies Connect, [port2 as never]);
  return port1;
}
