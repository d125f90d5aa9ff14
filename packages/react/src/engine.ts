import type { RuntimeStoreOptions, WorkerStoreOptions } from "@centella/llm/store";
import { ArgumentError } from "@centella/quant";

/** What computes: exactly one of the two. A function is called when the first model is loaded, and again after a loss. */
export interface EngineProps {
  /** The runtime of `@centella/core`, or a function that opens it. */
  readonly runtime?: RuntimeStoreOptions["runtime"];
  /** A worker whose script calls `serveModels`, or a function that starts it. */
  readonly worker?: WorkerStoreOptions["worker"];
}

type Given = RuntimeStoreOptions["runtime"] | WorkerStoreOptions["worker"];
type Opened = Awaited<ReturnType<Extract<Given, () => unknown>>>;

/** A model's use of the engine. */
export interface EngineUse {
  /** The engine as an option of the model's store. */
  readonly options: Pick<RuntimeStoreOptions, "runtime"> | Pick<WorkerStoreOptions, "worker">;
  /** Call it when the model was lost: the next load opens a new engine. */
  readonly lose: () => void;
}

/** The engine of a page, which its models share. */
export class Engine {
  readonly #name: "runtime" | "worker";
  readonly #given: Given;
  #current: Promise<Opened> | undefined;
  /** What the function opened, and so what this object ends. A lost engine may still compute other models, so it ends with the others. */
  readonly #owned: Opened[] = [];

  /** @throws {ArgumentError} without exactly one of `runtime` and `worker` */
  constructor({ runtime, worker }: EngineProps) {
    const given = runtime ?? worker;
    if (given === undefined || (runtime !== undefined && worker !== undefined)) {
      const got = given === undefined ? "neither" : "both";
      throw new ArgumentError("CentellaProvider", "either a runtime or a worker", got, "pass one of them");
    }
    this.#name = runtime === undefined ? "worker" : "runtime";
    this.#given = given;
  }

  use(): EngineUse {
    const given = this.#given;
    let used: Promise<Opened> | undefined;
    const open = (): Promise<Opened> => {
      this.#current ??= this.#open(given as () => Opened | Promise<Opened>);
      used = this.#current;
      return used;
    };
    const lose = (): void => {
      if (this.#current === used) this.#current = undefined;
    };
    // The name says which of the two kinds it is.
    return { options: { [this.#name]: typeof given === "function" ? open : given } as unknown as EngineUse["options"], lose };
  }

  /** Ends what was opened. The next load opens a new engine. */
  async close(): Promise<void> {
    this.#current = undefined;
    for (const opened of this.#owned.splice(0)) await end(opened);
  }

  async #open(open: () => Opened | Promise<Opened>): Promise<Opened> {
    try {
      const opened = await open();
      this.#owned.push(opened);
      return opened;
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }
}

/** Ends a runtime, or a worker of a browser or of Node. */
async function end(opened: Opened): Promise<void> {
  const { dispose, terminate } = opened as { dispose?(): Promise<void>; terminate?(): unknown };
  await (dispose ?? terminate)?.call(opened);
}
