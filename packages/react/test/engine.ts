import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { tiny } from "./tiny.ts";

/** Opens the runtime of a page's models, and counts. */
export class CountedEngine {
  opened = 0;
  disposed = 0;

  readonly runtime = async (): Promise<Runtime> => {
    this.opened++;
    const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    const dispose = runtime.dispose.bind(runtime);
    return Object.assign(runtime, {
      dispose: async () => {
        this.disposed++;
        await dispose();
      },
    });
  };
}

/** The embedded test model as a source that counts how often it is read from its start, and that can be held or broken. */
export class CountedSource {
  readonly size: number = tiny.length;
  /** Number of times that the weights were read. */
  loads = 0;
  /** Reading waits for this. */
  gate: Promise<void> = Promise.resolve();
  problem: Error | undefined;

  async read(offset: number, length: number): Promise<Uint8Array> {
    await this.gate;
    if (this.problem !== undefined) throw this.problem;
    if (offset + length === tiny.length) this.loads++;
    return new Uint8Array(tiny.subarray(offset, offset + length));
  }
}
