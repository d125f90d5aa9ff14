import { choice, never, text } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { soleOf } from "../lookup.ts";
import { type SchemaNode, schemaError } from "./documents.ts";
import type { Formula, Literal, Scalar } from "./formula.ts";
import { complementOf, exact, intersectionOf, Language, unionOf } from "./language.ts";
import { anyNumber } from "./numbers.ts";
import { anyString } from "./strings.ts";

/** All texts of each kind. */
export const universes: Readonly<Record<Scalar, Regular>> = {
  null: text("null"),
  boolean: choice(["true", "false"]),
  number: anyNumber,
  string: anyString,
};

/** What decides about regular expressions and gives the formula of a schema. */
export interface LanguageContext {
  formula(node: SchemaNode): Formula;
  isEmpty(regular: Regular): boolean;
}

/** Reads schemas as regular expressions over the texts of scalars. */
export class Languages {
  readonly #known = new Map<string, Language | "open">();

  readonly #context: LanguageContext;

  constructor(context: LanguageContext) {
    this.#context = context;
  }

  /** Returns the texts of values of kind `type` that `literals` allow. */
  allowed(literals: readonly Literal[], type: Scalar): Regular {
    const languages = literals.map(({ node, isNegated }) => {
      const language = this.#schema(node, type);
      return isNegated ? complement(language, type) : language;
    });
    return intersection(languages, type).narrow;
  }

  #schema(node: SchemaNode, type: Scalar): Language {
    const key = `${node.id} ${type}`;
    const found = this.#known.get(key);
    if (found === "open") throw cycle(node);
    if (found !== undefined) return found;
    this.#known.set(key, "open");
    const language = this.#read(this.#context.formula(node), type);
    this.#known.set(key, language);
    return language;
  }

  #read(formula: Formula, type: Scalar): Language {
    switch (formula.kind) {
      case "all":
        // Nothing else matters where the type is excluded: neither cost nor refused keywords.
        if (formula.of.some((part) => part.kind === "types" && !part.types.has(type))) return exact(never);
        return intersection(
          formula.of.map((part) => this.#read(part, type)),
          type,
        );
      case "any":
        return union(formula.of.map((part) => this.#read(part, type)));
      case "one":
        return this.#one(
          formula.of.map((part) => this.#read(part, type)),
          type,
        );
      case "not":
        return complement(this.#read(formula.of, type), type);
      case "schema":
        return this.#schema(formula.node, type);
      case "types":
        return exact(formula.types.has(type) ? universes[type] : never);
      case "scalar":
        return formula.type === type ? formula.language : exact(universes[type]);
      case "atom":
        return exact(universes[type]);
      case "unevaluated":
        return this.#read(formula.body, type);
      case "refused":
        if (formula.type === type) throw formula.error;
        return exact(universes[type]);
    }
  }

  /** What exactly one of the languages has: what some have, but for what two have. */
  #one(languages: readonly Language[], type: Scalar): Language {
    let some: Language = exact(never);
    let two: Language = exact(never);
    for (const language of languages) {
      const overlap = intersection([some, language], type);
      const isDisjoint = this.#context.isEmpty(overlap.wide);
      if (!isDisjoint) two = union([two, overlap]);
      some = union([some, language]);
    }
    return intersection([some, complement(two, type)], type);
  }
}

/** Returns the error for a schema that refers to itself without a value in between. */
export function cycle(node: SchemaNode): Error {
  return schemaError("GRAMMAR_REFERENCE", node, "$ref", "the schema refers to itself before any value is read");
}

function intersection(languages: readonly Language[], type: Scalar): Language {
  const sole = soleOf(languages);
  if (sole !== undefined) return sole;
  const both = (of: (language: Language) => Regular) => () => intersectionOf(languages.map(of), universes[type]);
  return new Language(
    both(({ narrow }) => narrow),
    both(({ wide }) => wide),
  );
}

function union(languages: readonly Language[]): Language {
  const sole = soleOf(languages);
  if (sole !== undefined) return sole;
  const some = (of: (language: Language) => Regular) => () => unionOf(languages.map(of));
  return new Language(
    some(({ narrow }) => narrow),
    some(({ wide }) => wide),
  );
}

function complement(language: Language, type: Scalar): Language {
  return new Language(
    () => complementOf(language.wide, universes[type]),
    () => complementOf(language.narrow, universes[type]),
  );
}
