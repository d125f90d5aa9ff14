import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { type Call, json, type Route, route } from "../http/route.ts";
import { streamResponse } from "../http/streamResponse.ts";
import type { ModelLibrary } from "../models/modelLibrary.ts";
import { libraryError, type ModelStore } from "../models/modelStore.ts";
import { modelField, modelName } from "./fields.ts";
import { ollamaForm } from "./form.ts";
import { nameFields, nameOf } from "./models.ts";

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
class Download {
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

export const pull: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/pull"],
  summary: "Downloads a model, if the server allows it, and says when the model is there.",
  fields: { used: { ...nameFields, stream: z.optional(z.boolean()) }, ignored: { insecure: z.optional(z.boolean()) } },
  async handle(call, body) {
    const { models } = call.services;
    const given = nameOf(body);
    const { library } = models;
    const name = library?.nameOf(given);
    if (library === undefined || name === undefined) {
      models.entry(given);
      return json({ status: "success" });
    }
    const download = new Download(call, library, name);
    if (body.stream !== false)
      return streamResponse(call, download, download.chunks(), { api: ollamaForm, contentType: "application/x-ndjson" });
    for await (const _ of download.chunks());
    return json({ status: "success" });
  },
});

/** @throws {ApiError} 501 unless requests may change the models */
function requireLibrary({ library }: ModelStore, path: string): void {
  if (library === undefined)
    throw new ApiError(501, "not_enabled", `${path}: expected a server whose models requests may change, got one that is configured`);
}

export const remove: Route = route({
  api: ollamaForm,
  method: "DELETE",
  paths: ["/api/delete"],
  summary: "Removes a copy, or a model that was pulled, if the server allows it.",
  fields: { used: nameFields },
  async handle({ services }, body) {
    requireLibrary(services.models, "/api/delete");
    await services.models.remove(nameOf(body));
    return new Response(null);
  },
});

export const copy: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/copy"],
  summary: "Gives a model a further name until the server ends, if the server allows it.",
  fields: {
    used: {
      source: modelField,
      destination: z
        .string()
        .check(z.regex(/^[\w.-]{1,64}(:[\w.-]{1,64})?$/, { error: "expected a name of letters, digits, dots and dashes" })),
    },
  },
  handle({ services }, { source, destination }) {
    requireLibrary(services.models, "/api/copy");
    services.models.copy(modelName(source), modelName(destination));
    return new Response(null);
  },
});
