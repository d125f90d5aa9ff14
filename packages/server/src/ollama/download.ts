import { ApiError } from "../errors.ts";
import type { Call } from "../http/route.ts";
import type { ModelLibrary } from "../models/modelLibrary.ts";
import { libraryError } from "../models/modelStore.ts";

/** Milliseconds between two lines of progress. */
const progressMs = 100;

const ended = [{ status: "verifying sha256 digest" }, { status: "writing manifest" }, { status: "success" }];

/** The lines of a download. @throws {ApiError} */
async function* pullLines(library: ModelLibrary, name: string, signal: AbortSignal): AsyncGenerator<object, void, undefined> {
  yield { status: "pulling manifest" };
  signal.throwIfAborted();
  let progress: object | undefined;
  let isOver = false;
  let wake: (() => void) | undefined;
  const onProgress = (completed: number, total: number | undefined): void => {
    progress = { status: `pulling ${name}`, digest: name, total: total ?? 0, completed };
    wake?.();
  };
  const pulling = library.pull(name, { signal, onProgress }).finally(() => {
    isOver = true;
    wake?.();
  });
  // Awaited below.
  pulling.catch(() => undefined);
  while (!isOver) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (progress !== undefined) yield progress;
    progress = undefined;
    if (!isOver) await new Promise((resolve) => setTimeout(resolve, progressMs));
  }
  if (progress !== undefined) yield progress;
  try {
    await pulling;
  } catch (error) {
    throw signal.aborted ? signal.reason : libraryError(name, error);
  }
  yield* ended;
}

/** A download in progress. It ends when its client leaves or the server closes, and its bytes are kept for the next one. */
export class Download {
  readonly lines: AsyncGenerator<object, void, undefined>;
  readonly #call: Call;
  readonly #ending = new AbortController();
  readonly #leave: () => void;

  /** @throws {ApiError} 429 for a caller with too many requests */
  constructor(call: Call, library: ModelLibrary, name: string) {
    this.#call = call;
    this.#leave = call.services.callers.enter(call.caller);
    call.services.open.add(this);
    call.signal.addEventListener("abort", this.#cancelled);
    this.lines = pullLines(library, name, this.#ending.signal);
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  async *chunks(): AsyncGenerator<string, void, undefined> {
    try {
      for await (const line of this.lines) yield `${JSON.stringify(line)}\n`;
    } finally {
      this.#release();
    }
  }

  finish(): void {
    this.#ending.abort(new ApiError(503, "draining", "the server is shutting down"));
    this.#release();
  }

  /** A reader that is slow does not slow the download down. */
  pause(): void {}
  resume(): void {}

  async close(): Promise<void> {
    this.#cancelled();
    this.#release();
  }

  #release(): void {
    this.#call.signal.removeEventListener("abort", this.#cancelled);
    this.#leave();
    this.#call.services.open.delete(this);
  }

  readonly #cancelled = (): void => this.#ending.abort(new ApiError(499, "cancelled", "the client left"));
}
