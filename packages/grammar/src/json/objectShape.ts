import { exceeded } from "../budget.ts";
import { choice } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import type { Clause } from "./clauses.ts";
import { type SchemaNode, schemaError } from "./documents.ts";
import type { Literal, ObjectAtom } from "./formula.ts";
import { complementOf, intersectionOf } from "./language.ts";
import type { State, StateSpace } from "./state.ts";
import { anyString, stringText } from "./strings.ts";

type Members = ObjectAtom & { kind: "members" };
type Some = ObjectAtom & { kind: "some" };

/** A property that a schema names. */
export interface NamedProperty {
  readonly name: string;
  readonly state: State;
  readonly isRequired: boolean;
}

/** Properties that no schema names: with a name in `keys`, a value in `state`. */
export interface OtherProperties {
  readonly keys: Regular;
  readonly state: State;
}

/** Objects that meet a clause. */
export interface ObjectShape {
  /** The named properties that may occur, in the order of the schema. */
  readonly names: readonly NamedProperty[];
  readonly others: readonly OtherProperties[];
  /** Properties of which one is required, though no schema names it. */
  readonly witnesses: readonly OtherProperties[] | undefined;
  readonly min: number;
  readonly max: number;
}

/** A clause while it is being read. */
interface Draft {
  /** Schemas of the value by name. */
  readonly names: ReadonlyMap<string, readonly (Literal | undefined)[]>;
  readonly required: ReadonlySet<string>;
  /** Conditions that some property exists, which may still be a named one. */
  readonly open: readonly Some[];
  /** Conditions that some property exists that no schema names. */
  readonly others: readonly Some[];
}

/** Names with one set of schemas for their values. */
interface Cell {
  readonly keys: Regular;
  readonly literals: readonly (Literal | undefined)[];
}

const maximumCells = 64;

/**
 * Returns shapes of which one fits exactly the objects that meet `clause`. Several are needed where some property has to exist that may be
 * one of several. With `isSketch`, other properties are left out where they cannot make the shape impossible.
 *
 * @throws {GrammarError} if a condition of the clause is refused
 */
export function objectShapes(clause: Clause, states: StateSpace, isSketch = false): readonly ObjectShape[] {
  return new ShapeReader(clause, states, isSketch).shapes();
}

class ShapeReader {
  readonly #members: Members[] = [];
  readonly #absent = new Set<string>();
  readonly #keys: Regular;
  readonly #draft: Draft;
  #min = 0;
  #max = Infinity;
  #minNode: SchemaNode | undefined;
  #cells: readonly Cell[] | undefined;

  readonly #states: StateSpace;
  readonly #isSketch: boolean;

  constructor(clause: Clause, states: StateSpace, isSketch: boolean) {
    this.#states = states;
    this.#isSketch = isSketch;
    const required = new Set<string>();
    const open: Some[] = [];
    const keys: Regular[] = [];
    for (const { atom } of clause) {
      if (atom.kind === "refused") throw atom.error;
      if (atom.kind === "members") this.#members.push(atom);
      if (atom.kind === "absent") this.#absent.add(atom.name);
      if (atom.kind === "required") for (const name of atom.names) required.add(name);
      if (atom.kind === "some") open.push(atom);
      if (atom.kind === "propertyNames") keys.push(states.strings(atom.literal));
      if (atom.kind === "size") {
        if (atom.min > this.#min) this.#minNode = atom.node;
        this.#min = Math.max(this.#min, atom.min);
        this.#max = Math.min(this.#max, atom.max);
      }
    }
    this.#keys = intersectionOf(keys, anyString);
    const ordered = new Set([...this.#members.flatMap(({ names }) => [...names.keys()]), ...required, ...this.#absent]);
    const names = new Map([...ordered].map((name) => [name, this.#literals(name)]));
    this.#draft = { names, required, open, others: [] };
  }

  shapes(): ObjectShape[] {
    return this.#expand(this.#draft);
  }

  /** Schemas of the value of the property `name`. */
  #literals(name: string): (Literal | undefined)[] {
    return this.#members.flatMap(({ names, patterns, rest }) => {
      const matching = patterns.filter(([keys]) => this.#matches(keys, name)).map(([, literal]) => literal);
      if (names.has(name)) return [names.get(name), ...matching];
      return matching.length > 0 ? matching : [rest];
    });
  }

  #matches(keys: Regular, name: string): boolean {
    return keys === anyString || this.#states.matches(keys, JSON.stringify(name));
  }

  /** Replaces each condition that some property exists by the properties that it may be. */
  #expand(draft: Draft): ObjectShape[] {
    const [first, ...open] = draft.open;
    if (first === undefined) return this.#finished(draft);
    const shapes: ObjectShape[] = [];
    for (const [name, literals] of draft.names) {
      if (!this.#matches(first.keys, name)) continue;
      const names = new Map(draft.names).set(name, [...literals, first.literal]);
      shapes.push(...this.#expand({ ...draft, names, required: new Set([...draft.required, name]), open }));
    }
    return [...shapes, ...this.#expand({ ...draft, open, others: [...draft.others, first] })];
  }

  #finished({ names: drafts, required, others }: Draft): ObjectShape[] {
    const names: NamedProperty[] = [];
    for (const [name, literals] of drafts) {
      const isAllowed = !this.#absent.has(name) && this.#matches(this.#keys, name);
      const state = isAllowed ? this.#states.state(literals) : this.#states.impossible;
      if (state !== this.#states.impossible) names.push({ name, state, isRequired: required.has(name) });
      else if (required.has(name)) return [];
    }
    if (required.size > this.#max) return [];
    const shape = { names, others: [], witnesses: undefined, min: this.#min, max: this.#max };
    if (this.#isSketch && others.length === 0) return [shape];
    const cells = this.#others();
    if (cells.length === 0) return others.length === 0 ? [shape] : [];
    const witnesses = others.map((some) => this.#witnesses(cells, some));
    if (witnesses.some((list) => list.length === 0)) return [];
    if (this.#isSketch) return [shape];
    this.#refuseUndecided(required.size, others);
    const found = { others: cells.map(({ keys, literals }) => ({ keys, state: this.#states.state(literals) })), witnesses: witnesses[0] };
    return [{ ...shape, ...found }];
  }

  /** Properties with names that repeat count once, which no grammar can follow. */
  #refuseUndecided(required: number, others: readonly Some[]): void {
    if (this.#min - required > 1) {
      const reason = "more than one property is needed beyond the required ones, and their names would have to differ";
      throw schemaError("GRAMMAR_UNSUPPORTED", this.#minNode, "minProperties", reason);
    }
    const [first, second] = others;
    if (first === undefined || (first.literal === undefined && second === undefined)) return;
    const reason = "cannot be decided where its complement is needed (in not, if or overlapping branches of oneOf)";
    throw schemaError("GRAMMAR_UNSUPPORTED", first.literal?.node.parent, "additionalProperties", reason);
  }

  #witnesses(cells: readonly Cell[], { keys, literal }: Some): OtherProperties[] {
    return cells.flatMap((cell) => {
      const both = { keys: intersectionOf([cell.keys, keys], anyString), state: this.#states.state([...cell.literals, literal]) };
      return both.state === this.#states.impossible || this.#states.isNever(both.keys) ? [] : [both];
    });
  }

  /** The names that no schema names, by the schemas of their values. */
  #others(): readonly Cell[] {
    if (this.#cells !== undefined) return this.#cells;
    let cells: readonly Cell[] = [{ keys: this.#keys, literals: [] }];
    for (const { patterns, rest } of this.#members) {
      cells = cells.flatMap((cell) => this.#split(cell, patterns, rest));
      if (cells.length > maximumCells) throw exceeded(`at most ${maximumCells} combinations of patterns of property names`, "more");
    }
    const named = [...this.#draft.names.keys()].map(stringText);
    this.#cells = named.length === 0 ? cells : cells.flatMap((cell) => this.#without(cell, choice(named)));
    return this.#cells;
  }

  #without({ keys, literals }: Cell, named: Regular): Cell[] {
    const left = intersectionOf([keys, complementOf(named, anyString)], anyString);
    // All names but finitely many are left.
    if (keys === anyString) return [{ keys: this.#states.live(left), literals }];
    return this.#states.isNever(left) ? [] : [{ keys: left, literals }];
  }

  #split(cell: Cell, patterns: Members["patterns"], rest: Literal | undefined): Cell[] {
    let parts = [{ ...cell, isMatched: false }];
    for (const [pattern, literal] of patterns) {
      parts = parts.flatMap(({ keys, literals, isMatched }) => {
        const matching = { keys: intersectionOf([keys, pattern], anyString), literals: [...literals, literal], isMatched: true };
        const remaining = { keys: intersectionOf([keys, complementOf(pattern, anyString)], anyString), literals, isMatched };
        return [matching, remaining].filter((part) => !this.#states.isNever(part.keys));
      });
    }
    const cells = parts.map(({ keys, literals, isMatched }) => ({ keys, literals: isMatched ? literals : [...literals, rest] }));
    return cells.filter(({ literals }) => this.#states.state(literals) !== this.#states.impossible);
  }
}
