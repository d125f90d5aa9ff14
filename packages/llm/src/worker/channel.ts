import { ArgumentError, DeviceLostError, DisposedError } from "@centella/core";
import { whenLifeEnds } from "./lifeLock.ts";
import { type PackedError, packError, unpackError } from "./packedError.ts";

/*
 * Calls across a message channel: a `Caller` makes them at one end, `serveCalls` serves them at the other. Calls begin in the order in which
 * they were made. A stream sends parts before they are read, up to a maximum.
 */

/** Functions that can be called. They return a value or a stream of parts. Arguments and results are cloned. */
export type Calls<C> = { readonly [K in keyof C]: (...args: never[]) => unknown };

type Value<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;
type Part<F> = F extends (...args: never[]) => AsyncIterable<infer P> ? P : never;
type Arguments<F> = F extends (...args: infer A) => unknown ? A : never;

/** Options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the values that the other end reports before the call ends. */
  readonly onReport?: ((...values: never[]) => void) | undefined;
  /** Called with the parts of a stream that arrive after its reader has left the loop. */
  readonly onUnread?: ((part: never) => void) | undefined;
  readonly transfer?: readonly (ArrayBuffer | MessagePort)[] | undefined;
}

/** First argument of a handler. */
export interface CallContext {
  readonly signal: AbortSignal;
  report(...values: readonly unknown[]): void;
}

export type Handlers<C> = {
  readonly [K in keyof C]: C[K] extends (...args: infer A) => infer R ? (context: CallContext, ...args: A) => R | Promise<R> : never;
};

interface Call {
  readonly type: "call";
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
  /** Whether the call's signal was aborted before the call. */
  readonly isAborted: boolean;
}

type Request = Call | { readonly type: "more" | "abort"; readonly id: number };

type Reply =
  | { readonly type: "report"; readonly id: number; readonly values: readonly unknown[] }
  | { readonly type: "part" | "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: PackedError };

/** A reply other than a report. */
type Result = Exclude<Reply, { readonly type: "report" }>;

/** Maximum number of parts of a stream that were sent but not read. */
const maxBufferedParts = 16;

/** A port of a browser or of Node, where an open port keeps the process alive. */
type Port = MessagePort & { ref?(): void; unref?(): void };

/** Makes calls. If the other end is gone, all calls fail with a {@link DeviceLostError}. */
export class Caller<C extends Calls<C>> {
  readonly #port: Port;
  readonly #pending = new Map<number, (reply: Result) => void>();
  readonly #reports = new Map<number, (...values: never[]) => void>();
  #lastId = 0;
  #lost: Error | undefined;
  readonly #closed = new AbortController();

  /** `life` is the name of the lock that the other end holds until it ends, if it does. */
  constructor(port: MessagePort, life?: string) {
    this.#port = port;
    if (life !== undefined) whenLifeEnds(life, () => this.#disconnect(new DeviceLostError("worker", "it ended")), this.#closed.signal);
    port.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
      if (data.type === "report") this.#report(data);
      else this.#pending.get(data.id)?.(data);
    });
    // Also emitted when the other thread ends.
    port.addEventListener("close", () => this.#disconnect(new DeviceLostError("worker", "it ended, or closed its port")));
    port.start();
    this.#port.unref?.();
  }

  /** @throws the other end's error; the signal's reason; {DeviceLostError | DisposedError}; {ArgumentError} if an argument cannot be cloned */
  async call<K extends keyof C & string>(name: K, args: Arguments<C[K]>, options: CallOptions = {}): Promise<Value<C[K]>> {
    options.signal?.throwIfAborted();
    return (await new Promise<unknown>((resolve, reject) => {
      const id = this.#open(name, args, options, (reply) => {
        end();
        if (reply.type === "failed") reject(failure(reply.error, options.signal));
        else resolve(reply.value);
      });
      const end = this.#watch(id, options.signal);
    })) as Value<C[K]>;
  }

  /** Streams the parts of a call, which begins when the first part is requested. Leaving the loop aborts the call. */
  async *stream<K extends keyof C & string>(
    name: K,
    args: Arguments<C[K]>,
    options: CallOptions = {},
  ): AsyncGenerator<Part<C[K]>, void, undefined> {
    const replies: Result[] = [];
    let wake: (() => void) | undefined;
    const id = this.#open(name, args, options, (reply) => {
      replies.push(reply);
      wake?.();
    });
    const unwatch = this.#watch(id, options.signal);
    const next = async (): Promise<Result> => {
      for (;;) {
        const reply = replies.shift();
        if (reply !== undefined) return reply;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    let hasEnded = false;
    try {
      for (;;) {
        const reply = await next();
        hasEnded = reply.type !== "part";
        if (reply.type === "failed") throw failure(reply.error, options.signal);
        if (reply.type === "done") return;
        this.#post({ type: "more", id });
        yield reply.value as Part<C[K]>;
      }
    } finally {
      if (!hasEnded) this.#post({ type: "abort", id });
      while (!hasEnded) {
        const reply = await next();
        hasEnded = reply.type !== "part";
        if (reply.type === "part") options.onUnread?.(reply.value as never);
      }
      unwatch();
      this.#close(id);
    }
  }

  /** Closes both ends of the channel. Later calls reject with a `DisposedError` for `what`. */
  close(what: string): void {
    this.#disconnect(new DisposedError(what));
    this.#port.close();
  }

  /** Ends all running calls with this error, and refuses later ones. */
  #disconnect(reason: Error): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    this.#closed.abort();
    const error = packError(reason);
    for (const [id, settle] of this.#pending) settle({ type: "failed", id, error });
  }

  /** An error of the callback ends the call, as it does without a worker. */
  #report({ id, values }: Extract<Reply, { readonly type: "report" }>): void {
    try {
      this.#reports.get(id)?.(...(values as never[]));
    } catch (value) {
      this.#post({ type: "abort", id });
      this.#pending.get(id)?.({ type: "failed", id, error: { type: "other", value } });
    }
  }

  #open(name: string, args: readonly unknown[], { onReport, signal, transfer = [] }: CallOptions, settle: (reply: Result) => void): number {
    if (this.#lost !== undefined) throw this.#lost;
    const id = ++this.#lastId;
    try {
      this.#post({ type: "call", id, name, args, isAborted: signal?.aborted === true }, transfer);
    } catch (error) {
      throw new ArgumentError(name, "values that can be cloned into a worker", String(error), "leave out functions and handles");
    }
    this.#pending.set(id, settle);
    if (onReport !== undefined) this.#reports.set(id, onReport);
    this.#port.ref?.();
    return id;
  }

  /** Forwards a later abort to the other end. Returns a function that stops this and ends the call. */
  #watch(id: number, signal: AbortSignal | undefined): () => void {
    const abort = (): void => this.#post({ type: "abort", id });
    signal?.addEventListener("abort", abort);
    return () => {
      signal?.removeEventListener("abort", abort);
      this.#close(id);
    };
  }

  #close(id: number): void {
    this.#pending.delete(id);
    this.#reports.delete(id);
    if (this.#pending.size === 0) this.#port.unref?.();
  }

  #post(request: Request, transfer: readonly Transferable[] = []): void {
    this.#port.postMessage(request, [...transfer]);
  }
}

/** The error of a failed call. For an abort it is the signal's own reason, which may be any value. */
function failure(error: PackedError, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true ? signal.reason : unpackError(error);
}

/** Serves calls until the port is closed. Typed arrays are transferred, not copied, if a result is one or is a list of them. */
export function serveCalls<C extends Calls<C>>(port: MessagePort, handlers: Handlers<C>): void {
  const running = new Map<number, { readonly controller: AbortController; more(): void }>();
  const post = (reply: Reply, transfer: Transferable[] = []): void => port.postMessage(reply, transfer);
  const serve = async ({ id, name, args, isAborted }: Call): Promise<void> => {
    const controller = new AbortController();
    if (isAborted) controller.abort();
    let free = maxBufferedParts;
    let wake: (() => void) | undefined;
    const more = (): void => {
      free++;
      wake?.();
    };
    running.set(id, { controller, more });
    controller.signal.addEventListener("abort", () => wake?.());
    try {
      const handler = (handlers as Record<string, (context: CallContext, ...args: readonly unknown[]) => unknown>)[name];
      if (handler === undefined) throw new ArgumentError("worker", "a call that it serves", name, "use the same release on both sides");
      const context = { signal: controller.signal, report: (...values: readonly unknown[]) => post({ type: "report", id, values }) };
      const result = await handler(context, ...args);
      if (!isStream(result)) {
        post({ type: "done", id, value: result }, buffersOf(result));
        return;
      }
      for await (const value of result) {
        while (free === 0 && !controller.signal.aborted) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        // After an abort, the remaining parts are sent at once.
        free--;
        post({ type: "part", id, value });
      }
      post({ type: "done", id, value: undefined });
    } catch (error) {
      post({ type: "failed", id, error: packError(error) });
    } finally {
      running.delete(id);
    }
  };
  port.addEventListener("message", ({ data }: MessageEvent<Request>) => {
    if (data.type === "call") void serve(data);
    else if (data.type === "more") running.get(data.id)?.more();
    else running.get(data.id)?.controller.abort();
  });
  port.addEventListener("close", () => {
    for (const { controller } of running.values()) controller.abort();
  });
  port.start();
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Buffers to transfer with a result: those of typed arrays that span their whole buffer. */
function buffersOf(result: unknown): Transferable[] {
  return (Array.isArray(result) ? result : [result]).flatMap((value) =>
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength ? [value.buffer] : [],
  );
}
