import type { RestoreOptions } from "../cache/saveOptions.ts";
import type { GenerateOptions } from "../generate/generateOptions.ts";
import type { GenerationFinish, GenerationPart } from "../generate/generationParts.ts";
import type { Prompt } from "../generate/promptInput.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";

/** Is told what the sessions of a model do. */
export interface ModelWatcher {
  /** A generation begins. Call the result when it is over. */
  begin(): () => void;
  take(part: GenerationPart): void;
  failed(error: unknown): void;
}

/** A session, in this thread or in a worker. Its `run` generates by its `generate`. */
interface WatchableSession<Self> {
  generate(prompt: Prompt, options?: GenerateOptions): AsyncGenerator<GenerationPart, void, undefined>;
  complete(prompt: Prompt, options?: GenerateOptions): Promise<GenerationFinish>;
  fork(): Self;
}

interface WatchableModel<Session> {
  createSession(options?: SessionOptions): Session;
  restoreSession(bytes: Uint8Array, options?: RestoreOptions): Promise<Session>;
}

/** Has the sessions of a model tell a watcher what they do. The methods are replaced on this object alone, so its class stays what it is. */
export function watchModel<Session extends WatchableSession<Session>, Model extends WatchableModel<Session>>(
  model: Model & WatchableModel<Session>,
  watcher: ModelWatcher,
): Model {
  const [create, restore] = [model.createSession.bind(model), model.restoreSession.bind(model)];
  return Object.assign(model, {
    createSession: (options?: SessionOptions) => watchSession(create(options), watcher),
    restoreSession: async (bytes: Uint8Array, options?: RestoreOptions) => watchSession(await restore(bytes, options), watcher),
  });
}

function watchSession<Session extends WatchableSession<Session>>(session: Session, watcher: ModelWatcher): Session {
  const [generate, complete, fork] = [session.generate.bind(session), session.complete.bind(session), session.fork.bind(session)];
  return Object.assign(session, {
    generate: (prompt: Prompt, options?: GenerateOptions) => watchParts(generate(prompt, options), watcher),
    complete: (prompt: Prompt, options?: GenerateOptions) => watchFinish(complete(prompt, options), watcher),
    fork: () => watchSession(fork(), watcher),
  });
}

async function* watchParts(
  parts: AsyncGenerator<GenerationPart, void, undefined>,
  watcher: ModelWatcher,
): AsyncGenerator<GenerationPart, void, undefined> {
  const end = watcher.begin();
  try {
    for await (const part of parts) {
      watcher.take(part);
      yield part;
    }
  } catch (error) {
    watcher.failed(error);
    throw error;
  } finally {
    end();
  }
}

async function watchFinish(finish: Promise<GenerationFinish>, watcher: ModelWatcher): Promise<GenerationFinish> {
  const end = watcher.begin();
  try {
    const part = await finish;
    watcher.take(part);
    return part;
  } catch (error) {
    watcher.failed(error);
    throw error;
  } finally {
    end();
  }
}
