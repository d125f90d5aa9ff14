import { ArgumentError, DeviceLostError, DisposedError } from "@centella/core";
import { type PackedError, packError, unpackError } from "./packedError.ts";

/*
 * Calls across a message channel, in both directions alike: a `Caller` asks at one end, `answer` serves at the other. Requests are taken up in
 * the order in which they were made. A stream's parts come ahead of their consumer, but only so many.
 */

/** What can be called: functions that give a value, or parts one by one. Arguments and results are cloned. */
export type Calls<C> = { readonly [K in keyof C]: (...args: never[]) => unknown };

type Value<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;
type Part<F> = F extends (...args: never[]) => AsyncIterable<infer P> ? P : never;
type Arguments<F> = F extends (...args: infer A) => unknown ? A : never;

/** What a call comes with besides its arguments. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with what the other end reports before the call ends. */
  readonly onReport?: ((...values: never[]) => void) | undefined;
  /** Called with the parts of a stream that come after its reader has left. */
  readonly onUnread?: ((part: never) => void) | undefined;
  readonly transfer?: readonly (ArrayBuffer | MessagePort)[] | undefined;
}

/** What serves a call gets besides its arguments. */
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
}

type Request = Call | { readonly type: "more" | "abort"; readonly id: number };

type Reply =
  | { readonly type: "report"; readonly id: number; readonly values: readonly unknown[] }
  | { readonly type: "part" | "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: PackedError };

/** Parts of a stream that may be on their way. */
const maxBufferedParts = 16;

/** A port as it is in browsers and in Node, where open ones keep the process alive. */
type Port = MessagePort & { ref?(): void; unref?(): void };

/** Makes calls. Where the other end is gone they all fail with a {@link DeviceLostError}. */
export class Caller<C extends Calls<C>> {
  readonly #port: Port;
  readonly #pending = new Map<number, (reply: Exclude<Reply, { readonly type: "report" }>) => void>();
  readonly #reports = new Map<number, (...values: never[]) => void>();
  #lastId = 0;
  #lost: Error | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
    port.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
      if (data.type === "report") this.#report(data);
      else this.#pending.get(data.id)?.(data);
    });
    // Also where the other thread has ended.
    port.addEventListener("close", () => this.#lose(new DeviceLostError("worker", "it ended, or closed its port")));
    port.start();
    this.#port.unref?.();
  }

  /** @throws what the other end threw; the signal's reason; {DeviceLostError | DisposedError}; {ArgumentError} for what cannot be cloned */
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

  /** The parts that a call gives, from when the first is asked for. Leaving the loop aborts the call. */
  async *stream<K extends keyof C & string>(
    name: K,
    args: Arguments<C[K]>,
    options: CallOptions = {},
  ): AsyncGenerator<Part<C[K]>, void, undefined> {
    const replies: Exclude<Reply, { readonly type: "report" }>[] = [];
    let wake: (() => void) | undefined;
    const id = this.#open(name, args, options, (reply) => {
      replies.push(reply);
      wake?.();
    });
    const unwatch = this.#watch(id, options.signal);
    const next = async (): Promise<Exclude<Reply, { readonly type: "report" }>> => {
      while (replies.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return replies.shift()!;
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

  /** Closes the channel, at both ends. `what` it was for is disposed of. */
  close(what: string): void {
    this.#lose(new DisposedError(what));
    this.#port.close();
  }

  /** Ends everything that is under way with this error, and refuses what comes later: the other end is gone. */
  #lose(reason: Error): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    const error = packError(reason);
    for (const [id, settle] of this.#pending) settle({ type: "failed", id, error });
  }

  /** What the callback throws ends the call, as it does where there is no worker. */
  #report({ id, values }: Extract<Reply, { readonly type: "report" }>): void {
    try {
      this.#reports.get(id)?.(...(values as never[]));
    } catch (value) {
      this.#post({ type: "abort", id });
      this.#pending.get(id)?.({ type: "failed", id, error: { type: "other", value } });
    }
  }

  #open(
    name: string,
    args: readonly unknown[],
    { onReport, transfer = [] }: CallOptions,
    settle: (reply: Exclude<Reply, { readonly type: "report" }>) => void,
  ): number {
    if (this.#lost !== undefined) throw this.#lost;
    const id = ++this.#lastId;
    try {
      this.#post({ type: "call", id, name, args }, transfer);
    } catch (error) {
      throw new ArgumentError(name, "values that can be cloned into a worker", String(error), "leave out functions and handles");
    }
    this.#pending.set(id, settle);
    if (onReport !== undefined) this.#reports.set(id, onReport);
    this.#port.ref?.();
    return id;
  }

  /** Tells the other end of an abort. The result stops that, and ends a call. */
  #watch(id: number, signal: AbortSignal | undefined): () => void {
    const abort = (): void => this.#post({ type: "abort", id });
    if (signal?.aborted === true) abort();
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

/** An abort is told as the signal has it: its reason may be anything, and identical to the caller's. */
function failure(error: PackedError, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true ? signal.reason : unpackError(error);
}

/** Serves calls until the port is closed. Typed arrays that are results of their own are moved, not copied. */
export function serveCalls<C extends Calls<C>>(port: MessagePort, handlers: Handlers<C>): void {
  const running = new Map<number, { readonly controller: AbortController; more(): void }>();
  const post = (reply: Reply, transfer: Transferable[] = []): void => port.postMessage(reply, transfer);
  const serve = async ({ id, name, args }: Call): Promise<void> => {
    const controller = new AbortController();
    let free = maxBufferedParts;
    let wake: (() => void) | undefined;
    const more = (): void => {
      free++;
      wake?.();
    };
    running.set(id, { controller, more });
    controller.signal.addEventListener("abort", () => wake?.());
    try {
      const handler = (handlers as Record<string, (context: CallContext, ...args: readonly unknown[]) => unknown>)[name]!;
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
        // What an abort leaves to say comes at once.
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

/** Memory that goes with a result: of typed arrays that have all of theirs. */
function buffersOf(result: unknown): Transferable[] {
  return (Array.isArray(result) ? result : [result]).flatMap((value) =>
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength ? [value.buffer] : [],
  );
}
