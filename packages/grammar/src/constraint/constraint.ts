import type { Vocabulary } from "../vocabulary/vocabulary.ts";
import type { Engine } from "./engine.ts";
import { Matcher } from "./matcher.ts";

/** A grammar compiled for a vocabulary. Immutable for its users: any number of matchers share it and what it has worked out. */
export class Constraint {
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The vocabulary that the grammar was compiled for. */
  get vocabulary(): Vocabulary {
    return this.#engine.vocabulary;
  }

  /** Bytes that automata, states and masks occupy now, as estimated from their sizes. */
  get bytes(): number {
    return this.#engine.bytes;
  }

  /** A matcher at the start of a text. */
  matcher(): Matcher {
    return new Matcher(this.#engine);
  }
}
