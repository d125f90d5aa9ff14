import type { GrammarError } from "../errors.ts";
import type { Regular } from "../expression/types.ts";
import { soleOf } from "../lookup.ts";
import type { SchemaNode } from "./documents.ts";
import type { Language } from "./language.ts";

/** Kinds of JSON values that `type` names; integers are numbers. */
export type Kind = "null" | "boolean" | "number" | "string" | "array" | "object";
export type Scalar = Exclude<Kind, "array" | "object">;
export type Container = "array" | "object";

export const scalars: readonly Scalar[] = ["null", "boolean", "number", "string"];
export const containers: readonly Container[] = ["object", "array"];

/** The schema `node`, or its complement. */
export interface Literal {
  readonly node: SchemaNode;
  readonly isNegated: boolean;
}

/** A condition on objects. */
export type ObjectAtom =
  /** Values by property name: of the named ones, of names that match a pattern, and of the remaining ones. */
  | {
      readonly kind: "members";
      readonly names: ReadonlyMap<string, Literal | undefined>;
      readonly patterns: readonly (readonly [keys: Regular, literal: Literal | undefined])[];
      readonly rest: Literal | undefined;
    }
  | { readonly kind: "propertyNames"; readonly literal: Literal }
  | { readonly kind: "required"; readonly names: readonly string[] }
  | { readonly kind: "absent"; readonly name: string }
  /** Some property with a name in `keys` has a value of `literal`, any value if it is undefined. */
  | { readonly kind: "some"; readonly keys: Regular; readonly literal: Literal | undefined };

/** A condition on arrays. */
export type ArrayAtom =
  | { readonly kind: "items"; readonly prefix: readonly (Literal | undefined)[]; readonly rest: Literal | undefined }
  /** Between `min` and `max` of the items from the index `from` on are of `literal`. */
  | { readonly kind: "contains"; readonly from: number; readonly literal: Literal; readonly min: number; readonly max: number }
  | { readonly kind: "unique"; readonly error: GrammarError };

/** A condition on objects or arrays. `size` counts properties or items. */
export type Atom = { readonly type: Container; readonly node: SchemaNode } & (
  | ObjectAtom
  | ArrayAtom
  | { readonly kind: "size"; readonly min: number; readonly max: number }
  /** Cannot be decided; throws where the condition matters. */
  | { readonly kind: "refused"; readonly error: GrammarError }
);

/**
 * A schema as a formula. Conditions on one kind of value hold for all values of other kinds. Both readings of schemas start from it: texts
 * of scalars as regular expressions, objects and arrays as clauses of {@link Atom}s.
 */
export type Formula =
  | { readonly kind: "all" | "any" | "one"; readonly of: readonly Formula[] }
  | { readonly kind: "not"; readonly of: Formula }
  | { readonly kind: "schema"; readonly node: SchemaNode }
  | { readonly kind: "types"; readonly types: ReadonlySet<Kind> }
  /** `texts` lists the values where they are finitely many. */
  | { readonly kind: "scalar"; readonly type: Scalar; readonly language: Language; readonly texts?: readonly string[] }
  | { readonly kind: "atom"; readonly atom: Atom }
  /** `body`, and what no part of it evaluates is of `literal`. */
  | { readonly kind: "unevaluated"; readonly type: Container; readonly body: Formula; readonly literal: Literal }
  | { readonly kind: "refused"; readonly type: Scalar; readonly error: GrammarError };

export const always: Formula = { kind: "all", of: [] };
export const impossible: Formula = { kind: "any", of: [] };

export function all(parts: readonly Formula[]): Formula {
  const of = parts.flatMap((part) => (part.kind === "all" ? part.of : [part]));
  return soleOf(of) ?? { kind: "all", of };
}

export function any(of: readonly Formula[]): Formula {
  return soleOf(of) ?? { kind: "any", of };
}

export function not(of: Formula): Formula {
  return { kind: "not", of };
}

export function atom(atom: Atom): Formula {
  return { kind: "atom", atom };
}

/** Returns the complement of `literal`. */
export function opposite({ node, isNegated }: Literal): Literal {
  return { node, isNegated: !isNegated };
}
