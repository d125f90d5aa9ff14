import { ArgumentError, DisposedError, type Runtime } from "@centella/core";
import type { GgufInput } from "@centella/gguf";
import type { Session } from "../generate/session.ts";
import { loadModel } from "../load/loadModel.ts";
import type { Model } from "../model/model.ts";
import type { ModelCalls, PackedSources, StreamedPart } from "./calls.ts";
import { type Handlers, serveCalls } from "./channel.ts";
import { endpointOfWorker, isConnect, isHello } from "./endpoint.ts";
import { holdLifeLock } from "./lifeLock.ts";
import { type PackedSource, unpackSource } from "./packedSource.ts";

/**
 * Serves models to the thread that started this worker, which loads them by `loadModel` of `@centella/llm/worker`. Call it once, in the
 * worker's script. The runtime is opened when the first model is loaded, and all models share it.
 * @throws {ArgumentError} if this thread is not a worker
 */
export function serveModels(openRuntime: () => Runtime | Promise<Runtime>): void {
  if (typeof openRuntime !== "function")
    throw new ArgumentError("serveModels", "a function that opens the runtime", typeof openRuntime, "pass () => createRuntime(…)");
  const endpoint = endpointOfWorker();
  let opened: Promise<Runtime> | undefined;
  const runtime = (): Promise<Runtime> => {
    opened ??= (async () => openRuntime())();
    // After a failure, the next model tries again.
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  const life = holdLifeLock();
  const answer = async (): Promise<void> => endpoint.post({ centella: "ready", life: await life });
  endpoint.listen((message) => {
    if (isHello(message)) void answer();
    else if (isConnect(message)) serveCalls<ModelCalls>(message.port, handlersOf(runtime));
  });
  void answer();
}

/** Sources that were unpacked in this worker. */
class OpenSources {
  readonly #closers: (() => void)[] = [];

  open(source: PackedSource): GgufInput {
    const { input, close } = unpackSource(source);
    if (close !== undefined) this.#closers.push(close);
    return input;
  }

  /** A source, or the parts of a split model. */
  openAll(source: PackedSources): GgufInput | readonly GgufInput[] {
    return "type" in source ? this.open(source) : source.map((part) => this.open(part));
  }

  close(): void {
    for (const close of this.#closers.splice(0)) close();
  }
}

/** Handlers of the calls to one model. */
function handlersOf(openRuntime: () => Promise<Runtime>): Handlers<ModelCalls> {
  let loaded: Model | undefined;
  const sources = new OpenSources();
  const sessions = new Map<number, Session>();
  const model = (): Model => {
    if (loaded === undefined) throw new DisposedError("model");
    return loaded;
  };
  const session = (number: number): Session => {
    const found = sessions.get(number);
    if (found === undefined) throw new DisposedError("session");
    return found;
  };
  return {
    async load({ signal, report }, source, { adapters, draft, ...options }) {
      try {
        loaded = await loadModel(sources.openAll(source), {
          ...options,
          ...(draft && { draft: { ...draft, source: draft.source === undefined ? undefined : sources.openAll(draft.source) } }),
          ...(adapters && { adapters: adapters.map((adapter) => ({ ...adapter, source: sources.open(adapter.source) })) }),
          runtime: await openRuntime(),
          signal,
          onProgress: report,
        });
      } catch (error) {
        sources.close();
        throw error;
      }
      return loaded.info;
    },
    encode: (_, text, options) => model().tokenizer.encode(text, options),
    decode: (_, ids, options) => model().tokenizer.decode(ids, options),
    logits: ({ signal }, ids, options) => model().logits(ids, { ...options, signal }),
    embed: ({ signal }, texts, options) => model().embed(texts, { ...options, signal }),
    rerank: ({ signal }, query, documents, options) => model().rerank(query, documents, { ...options, signal }),
    perplexity: ({ signal, report }, text, options) => model().perplexity(text, { ...options, signal, onProgress: report }),
    toolFormat: () => model().toolFormat,
    cacheUsage: () => model().cacheUsage(),
    createSession: (_, number, options) => void sessions.set(number, model().createSession(options)),
    async restoreSession({ signal }, number, bytes, options) {
      const restored = await model().restoreSession(bytes, { ...options, signal });
      sessions.set(number, restored);
      return restored.messages;
    },
    forkSession: (_, number, from) => void sessions.set(number, session(from).fork()),
    resetSession: (_, number, messages) => session(number).reset(messages),
    async *generate({ signal }, number, prompt, options): AsyncIterable<StreamedPart> {
      const of = session(number);
      for await (const part of of.generate(prompt, { ...options, signal }))
        yield { part, messages: part.type === "finish" ? of.messages : undefined };
    },
    saveSession: ({ signal }, number, options) => session(number).save({ ...options, signal }),
    freeSession: (_, number) => session(number).dispose(),
    dropSession: (_, number) => void sessions.delete(number),
    async dispose() {
      await model().dispose();
      sources.close();
    },
  };
}
