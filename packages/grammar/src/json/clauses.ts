import type { Meter } from "../budget.ts";
import { exceeded } from "../budget.ts";
import { choice } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { soleOf } from "../lookup.ts";
import { type Documents, type SchemaNode, schemaError } from "./documents.ts";
import { type Atom, all, any, atom, type Container, type Formula, type Literal, not, opposite } from "./formula.ts";
import { complementOf, intersectionOf } from "./language.ts";
import { cycle } from "./languages.ts";
import { anyString, stringText } from "./strings.ts";

/** An atom that holds in a clause. */
export interface Condition {
  readonly atom: Atom;
  /** Whether the properties or items that the atom applies to count as evaluated; those of complements do not. */
  readonly isEvaluating: boolean;
}

/** Conditions that hold together, in the order of the schema's keywords. */
export type Clause = readonly Condition[];

/** What {@link Clauses} has to know from elsewhere. */
export interface ClauseContext {
  readonly documents: Documents;
  readonly meter: Meter;
  formula(node: SchemaNode): Formula;
  /** Strings that `literal` allows. */
  strings(literal: Literal): Regular;
  /** Whether surely no value meets `clause`. */
  isDead(clause: Clause, type: Container): boolean;
}

/** How a formula is read: for which kind of value, complemented or not. */
interface Mode {
  readonly type: Container;
  readonly isNegated: boolean;
  /** False inside complements, where nothing counts as evaluated. */
  readonly isEvaluating: boolean;
  /** Whether a keyword further out asks what has been evaluated, so that all branches that hold matter. */
  readonly isTracked: boolean;
}

/** Clauses of one schema. More are hardly useful, and too many for a grammar. */
const maximumClauses = 4096;
/** Branches of an `anyOf` whose combinations are told apart where evaluated properties matter. */
const maximumTracked = 6;
/** Schemas in place of each other (`allOf`, `$ref` …), for which the reading recurses. */
const maximumDepth = 150;

/** Reads schemas of objects or arrays as clauses of which one must hold. */
export class Clauses {
  readonly #known = new Map<string, readonly Clause[]>();
  /** Schemas that are being read, each in place of the one before. */
  #open = new Set<string>();
  #depth = 0;

  readonly #context: ClauseContext;

  constructor(context: ClauseContext) {
    this.#context = context;
  }

  /** Returns clauses of which one holds exactly for the values of kind `type` that all `literals` allow. */
  of(literals: readonly Literal[], type: Container): readonly Clause[] {
    const mode = { type, isEvaluating: true, isTracked: false };
    const lists = literals.map(
      ({ node, isNegated }) =>
        () =>
          this.#schema(node, { ...mode, isNegated, isEvaluating: !isNegated }),
    );
    return this.#product(lists);
  }

  #schema(node: SchemaNode, mode: Mode): readonly Clause[] {
    const key = `${node.id} ${mode.type} ${mode.isNegated} ${mode.isEvaluating} ${mode.isTracked}`;
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    if (this.#open.has(key)) throw cycle(node);
    if (this.#depth >= maximumDepth) throw exceeded(`at most ${maximumDepth} schemas in place of each other`, "more");
    this.#open.add(key);
    this.#depth++;
    const clauses = this.#read(this.#context.formula(node), mode);
    this.#depth--;
    this.#open.delete(key);
    this.#known.set(key, clauses);
    return clauses;
  }

  #read(formula: Formula, mode: Mode): readonly Clause[] {
    const { isNegated, type } = mode;
    switch (formula.kind) {
      case "all":
        return isNegated ? this.#union(formula.of, mode) : this.#all(formula.of, mode);
      case "any":
        if (isNegated) return this.#all(formula.of, mode);
        return mode.isTracked && formula.of.length > 1 ? this.#combinations(formula.of, mode) : this.#union(formula.of, mode);
      case "one":
        return isNegated ? this.#notOne(formula.of, mode) : this.#one(formula.of, mode);
      case "not":
        return this.#read(formula.of, { ...mode, isNegated: !isNegated, isEvaluating: false });
      case "schema":
        return this.#schema(formula.node, mode);
      case "types":
        return formula.types.has(type) === isNegated ? [] : [[]];
      case "scalar":
      case "refused":
        return isNegated ? [] : [[]];
      case "atom":
        return this.#atom(formula.atom, mode);
      case "unevaluated":
        return this.#unevaluated(formula, mode);
    }
  }

  /** Clauses of the formulas that hold together. Nothing else is read where the type is excluded. */
  #all(of: readonly Formula[], mode: Mode): readonly Clause[] {
    if (!mode.isNegated && of.some((part) => part.kind === "types" && !part.types.has(mode.type))) return [];
    return this.#product(of.map((part) => () => this.#read(part, mode)));
  }

  #union(of: readonly Formula[], mode: Mode): readonly Clause[] {
    const clauses: Clause[] = [];
    for (const part of of) {
      for (const clause of this.#read(part, mode)) {
        if (clause.length === 0 && !mode.isTracked) return [[]];
        clauses.push(clause);
      }
    }
    return this.#bounded(clauses);
  }

  #product(lists: readonly (() => readonly Clause[])[]): readonly Clause[] {
    let clauses: readonly Clause[] = [[]];
    for (const list of lists) {
      if (clauses.length === 0) return [];
      clauses = this.#times(clauses, list());
    }
    return clauses;
  }

  #times(left: readonly Clause[], right: readonly Clause[]): readonly Clause[] {
    const isOpen = (list: readonly Clause[]) => soleOf(list)?.length === 0;
    if (isOpen(right)) return left;
    if (isOpen(left)) return right;
    const clauses: Clause[] = [];
    for (const a of left) {
      for (const b of right) {
        this.#context.meter.work(10);
        const clause = [...a, ...b];
        if (!isContradiction(clause)) clauses.push(clause);
      }
      this.#bounded(clauses);
    }
    return clauses;
  }

  #bounded(clauses: readonly Clause[]): readonly Clause[] {
    if (clauses.length > maximumClauses) throw exceeded(`at most ${maximumClauses} combinations of alternatives in a schema`, "more");
    return clauses;
  }

  /** Every set of branches that may hold together: the more hold, the more is evaluated. */
  #combinations(of: readonly Formula[], mode: Mode): readonly Clause[] {
    if (of.length > maximumTracked) {
      throw exceeded(`at most ${maximumTracked} branches where unevaluated properties or items are restricted`, `${of.length}`);
    }
    let clauses: readonly Clause[] = [];
    for (const part of of) {
      const branch = this.#read(part, mode);
      clauses = this.#bounded([...clauses, ...branch, ...this.#times(clauses, branch)]);
    }
    return clauses;
  }

  /** One branch holds and those that overlap with it do not. */
  #one(of: readonly Formula[], mode: Mode): readonly Clause[] {
    const branches = of.map((part) => ({
      clauses: this.#read(part, mode),
      opposite: () => this.#read(part, { ...mode, isNegated: true, isEvaluating: false }),
    }));
    return this.#bounded(
      branches.flatMap((branch) => {
        const overlapping = branches.filter((other) => other !== branch && !this.#isDisjoint(branch.clauses, other.clauses, mode.type));
        return this.#product([() => branch.clauses, ...overlapping.map(({ opposite }) => opposite)]);
      }),
    );
  }

  /** No branch holds, or two do. */
  #notOne(of: readonly Formula[], mode: Mode): readonly Clause[] {
    const none = this.#all(of, mode);
    const two = of.flatMap((a, i) => of.slice(i + 1).map((b) => all([a, b])));
    return this.#bounded([...none, ...this.#union(two, { ...mode, isNegated: false, isEvaluating: false })]);
  }

  #isDisjoint(left: readonly Clause[], right: readonly Clause[], type: Container): boolean {
    const both = this.#times(left, right);
    // Looks into members, where a schema that is being read may occur again.
    const open = this.#open;
    this.#open = new Set();
    const isDisjoint = both.every((clause) => this.#context.isDead(clause, type));
    this.#open = open;
    return isDisjoint;
  }

  #atom(each: Atom, mode: Mode): readonly Clause[] {
    if (each.type !== mode.type) return mode.isNegated ? [] : [[]];
    if (!mode.isNegated) return [[{ atom: each, isEvaluating: mode.isEvaluating }]];
    return this.#read(this.#opposite(each), { ...mode, isNegated: false, isEvaluating: false });
  }

  /** Returns the formula that holds where `each` does not. */
  #opposite(each: Atom): Formula {
    const { type, node } = each;
    const holds = (rest: object) => atom({ type, node, ...rest } as Atom);
    switch (each.kind) {
      case "members":
        return this.#oppositeMembers(each, holds);
      case "propertyNames":
        return holds({ kind: "some", keys: this.#context.strings(opposite(each.literal)) });
      case "required":
        return any(each.names.map((name) => holds({ kind: "absent", name })));
      case "absent":
        return holds({ kind: "required", names: [each.name] });
      case "size": {
        const fewer = each.min > 0 ? [holds({ kind: "size", min: 0, max: each.min - 1 })] : [];
        const more = each.max < Infinity ? [holds({ kind: "size", min: each.max + 1, max: Infinity })] : [];
        return any([...fewer, ...more]);
      }
      case "items": {
        const parts = each.prefix.map((literal, i) => {
          if (literal === undefined) return any([]);
          const prefix = [...new Array<undefined>(i), opposite(literal)];
          return all([holds({ kind: "size", min: i + 1, max: Infinity }), holds({ kind: "items", prefix })]);
        });
        if (each.rest === undefined) return any(parts);
        const outside = { kind: "contains", from: each.prefix.length, literal: opposite(each.rest), min: 1, max: Infinity };
        return any([...parts, holds(outside)]);
      }
      case "contains": {
        const fewer = each.min > 0 ? [holds({ ...each, min: 0, max: each.min - 1 })] : [];
        const more = each.max < Infinity ? [holds({ ...each, min: each.max + 1, max: Infinity })] : [];
        return any([...fewer, ...more]);
      }
      case "unique":
        return holds({ kind: "refused", error: each.error });
      case "refused":
        return atom(each);
      case "some":
        throw new TypeError("some: expected no complement");
    }
  }

  #oppositeMembers(each: Atom & { kind: "members" }, holds: (rest: object) => Formula): Formula {
    const { names, patterns, rest } = each;
    const parts: Formula[] = [];
    for (const [name, literal] of names) {
      if (literal === undefined) continue;
      const member = holds({ kind: "members", names: new Map([[name, opposite(literal)]]), patterns: [] });
      parts.push(all([holds({ kind: "required", names: [name] }), member]));
    }
    for (const [keys, literal] of patterns) {
      if (literal !== undefined) parts.push(holds({ kind: "some", keys, literal: opposite(literal) }));
    }
    if (rest !== undefined) parts.push(holds({ kind: "some", keys: otherKeys(names.keys(), patterns), literal: opposite(rest) }));
    return any(parts);
  }

  #unevaluated({ type, body, literal }: Formula & { kind: "unevaluated" }, mode: Mode): readonly Clause[] {
    if (type !== mode.type) return this.#read(body, mode);
    const { node } = literal;
    if (mode.isNegated) {
      const keyword = type === "object" ? "unevaluatedProperties" : "unevaluatedItems";
      const reason = "cannot be decided inside not, or where branches of oneOf and if overlap";
      const error = schemaError("GRAMMAR_UNSUPPORTED", node.parent, keyword, reason);
      return this.#read(any([not(body), atom({ type, node, kind: "refused", error })]), { ...mode, isNegated: false });
    }
    // Inside a complement nothing counts as evaluated outside of it, but the keyword's own schema still sees what its parts evaluate.
    const clauses = this.#read(body, { ...mode, isEvaluating: true, isTracked: true });
    return clauses.map((clause) => {
      const rest = type === "object" ? restOfMembers(clause, literal) : this.#restOfItems(clause, literal);
      const whole = rest === undefined ? clause : [...clause, { atom: rest, isEvaluating: true }];
      return mode.isEvaluating ? whole : whole.map(({ atom: each }) => ({ atom: each, isEvaluating: false }));
    });
  }

  /** Items beyond the evaluated ones are of `literal`, unless a `contains` has evaluated them. */
  #restOfItems(clause: Clause, literal: Literal): Atom | undefined {
    let evaluated = 0;
    const found: unknown[] = [];
    for (const { atom: each, isEvaluating } of clause) {
      if (!isEvaluating) continue;
      if (each.kind === "items" && each.rest !== undefined) return undefined;
      if (each.kind === "items") evaluated = Math.max(evaluated, each.prefix.length);
      if (each.kind === "contains" && each.node.draft >= 2020) found.push(each.literal.node.schema);
    }
    const { node } = literal;
    const schema = { anyOf: [...found, node.schema] };
    const rest = found.length === 0 ? literal : { node: this.#context.documents.synthetic(schema, node, []), isNegated: false };
    return { type: "array", node, kind: "items", prefix: new Array<undefined>(evaluated), rest };
  }
}

/** Properties other than the evaluated ones are of `literal`. */
function restOfMembers(clause: Clause, literal: Literal): Atom | undefined {
  const names = new Map<string, undefined>();
  const patterns: (readonly [Regular, undefined])[] = [];
  for (const { atom: each, isEvaluating } of clause) {
    if (each.kind !== "members" || !isEvaluating) continue;
    if (each.rest !== undefined) return undefined;
    for (const name of each.names.keys()) names.set(name, undefined);
    for (const [keys] of each.patterns) patterns.push([keys, undefined]);
  }
  return { type: "object", node: literal.node, kind: "members", names, patterns, rest: literal };
}

/** Returns the texts of names that are none of `names` and match none of `patterns`. */
export function otherKeys(names: Iterable<string>, patterns: readonly (readonly [Regular, unknown])[]): Regular {
  const named = [...names].map(stringText);
  const excluded = [...(named.length === 0 ? [] : [choice(named)]), ...patterns.map(([keys]) => keys)];
  return intersectionOf(
    excluded.map((keys) => complementOf(keys, anyString)),
    anyString,
  );
}

/** Returns whether a name is both required and absent, or a size both at least and at most. */
function isContradiction(clause: Clause): boolean {
  const absent = new Set<string>();
  let min = 0;
  let max = Infinity;
  for (const { atom: each } of clause) {
    if (each.kind === "absent") absent.add(each.name);
    if (each.kind === "size") {
      min = Math.max(min, each.min);
      max = Math.min(max, each.max);
    }
  }
  if (min > max) return true;
  return absent.size > 0 && clause.some(({ atom: each }) => each.kind === "required" && each.names.some((name) => absent.has(name)));
}
