import type { OpRecorder, Value } from "@centella/core";
import { blocksOf } from "../cache/prefixCache.ts";

/**
 * Tokens that runs choose and later runs read, without a way over the host: a persistent with an entry for each block of the cache. A chosen
 * token waits in the entry of the block that its key and value will be written to, which belongs to one sequence alone. The last entry is for
 * tokens that no run reads.
 */
export class ChosenTokens {
  readonly #program: OpRecorder;
  readonly #entries: Value;

  constructor(program: OpRecorder, { sequences, contextLength }: { readonly sequences: number; readonly contextLength: number }) {
    this.#program = program;
    const entries = sequences * blocksOf(contextLength) + 1;
    this.#entries = program.persistent("chosen", { dtype: "i32", shape: [entries] }, { init: "zeros" });
  }

  /** The tokens of a run `[T]`: the given ones, and where -1 is given, those of entries. */
  read(given: Value): Value {
    const program = this.#program;
    const entries = program.input("tokenBlocks", "i32", given.spec.shape);
    const isUnknown = program.less(given, program.constant(Int32Array.of(0), "i32", []));
    return program.where(isUnknown, program.gather(this.#entries, entries), given);
  }

  /** Keeps the chosen tokens `[nOut]` in entries. */
  write(tokens: Value): void {
    const blocks = this.#program.input("chosenBlocks", "i32", tokens.spec.shape);
    this.#program.assign(this.#entries, this.#program.scatter(this.#entries, blocks, tokens));
  }
}
