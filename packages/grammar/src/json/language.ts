import { and, choice, never, not } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";

/**
 * The texts of the scalars that a schema allows. One value may have several texts, of which not all are generated: `narrow` has those that
 * are, `wide` every text that may be read as an allowed value. Complements swap the two, so that no text of a value that is not allowed
 * ever slips in. Both are made when they are first needed.
 */
export class Language {
  readonly #makeNarrow: () => Regular;
  readonly #makeWide: () => Regular;
  #narrow: Regular | undefined;
  #wide: Regular | undefined;

  constructor(narrow: () => Regular, wide: () => Regular) {
    this.#makeNarrow = narrow;
    this.#makeWide = wide;
  }

  get narrow(): Regular {
    this.#narrow ??= this.#makeNarrow();
    return this.#narrow;
  }

  get wide(): Regular {
    this.#wide ??= this.#makeWide();
    return this.#wide;
  }
}

/** Returns the language whose texts are all generated. */
export function exact(regular: Regular): Language {
  return new Language(
    () => regular,
    () => regular,
  );
}

/** Returns the intersection of parts of `universe`. */
export function intersectionOf(regulars: readonly Regular[], universe: Regular): Regular {
  const parts = new Set(regulars);
  parts.delete(universe);
  if (parts.has(never)) return never;
  return parts.size === 0 ? universe : and([...parts]);
}

/** Returns the part of `universe` that `regular` does not have. */
export function complementOf(regular: Regular, universe: Regular): Regular {
  if (regular === never) return universe;
  return regular === universe ? never : and([universe, not(regular)]);
}

export function unionOf(regulars: readonly Regular[]): Regular {
  const parts = new Set(regulars);
  parts.delete(never);
  return parts.size === 0 ? never : choice([...parts]);
}
