import type { OpRecorder, Value } from "@centella/core";
import { blocksOf } from "../cache/prefixCache.ts";

/**
 * Tokens that runs choose and later runs read, without a way over the host: a persistent with an entry for each block of the cache. A chosen
 * token waits in the entry of the block that its key and value will be written to, which belongs to one sequence alone.
 */
export class ChosenTokens {
  readonly #program: OpRecorder;
  readonly #entries: Value;

  constructor(program: OpRecorder, { sequences, contextLength }: { readonly sequences: number; readonly contextLength: number }) {
    this.#program = program;
    const shape = [sequences * blocksOf(contextLength)];
    this.#entries = program.persistent("chosen", { dtype: "i32", shape }, { init: "zeros" });
  }

  /** The tokens of a run `[T]`: for each, that of an entry, or the given one if its entry is -1. */
  read(given: Value): Value {
    const blocks = this.#program.input("tokenBlocks", "i32", given.spec.shape);
    return this.#program.gather(this.#entries, blocks, { fallback: given });
  }

  /** Keeps chosen tokens `[nOut]` in entries, but none for an entry -1. */
  write(tokens: Value): void {
    const indices = this.#program.input("chosenBlocks", "i32", tokens.spec.shape);
    this.#program.assign(this.#entries, tokens, { indices });
  }
}
