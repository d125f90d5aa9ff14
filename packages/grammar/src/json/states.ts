import type { Meter } from "../budget.ts";
import { and, choice, never } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { Automaton } from "../regular/automaton.ts";
import { type Node, neverNode } from "../regular/nodes.ts";
import { arrayShape } from "./arrayShape.ts";
import { type Clause, Clauses } from "./clauses.ts";
import type { Documents, SchemaNode } from "./documents.ts";
import { type Container, containers, type Formula, type Kind, type Literal, type Scalar, scalars } from "./formula.ts";
import { Languages } from "./languages.ts";
import { printable } from "./numbers.ts";
import { objectShapes } from "./objectShape.ts";
import { Reader } from "./reader.ts";
import type { State, StateSpace } from "./state.ts";

/** Levels of required properties and items that are searched for a contradiction. */
const maximumLookahead = 4;
const encoder = new TextEncoder();

/** What can be decided about states: their texts, their clauses, and whether they are empty. */
export class States implements StateSpace {
  readonly impossible: State = { key: "impossible", literals: [] };
  readonly meter: Meter;
  readonly #reader: Reader;
  readonly #languages: Languages;
  readonly #clauses: Clauses;
  readonly #automaton: Automaton;
  readonly #states = new Map<string, State>();
  readonly #nodes = new Map<Regular, Node>();
  readonly #texts = new Map<State, Regular>();
  readonly #live = new Set<Regular>();
  readonly #printable = new Map<Regular, Regular>();
  readonly #read = new Map<State, Readonly<Record<Container, readonly Clause[]>>>();
  readonly #empty = new Map<State, boolean>();
  #lookahead = 0;

  constructor(documents: Documents, meter: Meter) {
    this.meter = meter;
    this.#automaton = new Automaton(meter);
    this.#reader = new Reader(documents, meter);
    const formula = (node: SchemaNode) => this.#reader.formula(node);
    this.#languages = new Languages({ formula, isEmpty: (regular) => this.isNever(regular) });
    this.#clauses = new Clauses({
      documents,
      meter,
      formula,
      strings: (literal) => this.#languages.allowed([literal], "string"),
      isDead: (clause, type) => this.isDead(clause, type),
    });
  }

  /** Returns the state of values that all `literals` allow. */
  state(literals: Iterable<Literal | undefined>): State {
    const unique = new Map<string, Literal>();
    for (const each of literals) {
      if (each === undefined) continue;
      const { node, isNegated } = this.#target(each);
      if (typeof node.schema === "boolean") {
        if (node.schema === isNegated) return this.impossible;
        continue;
      }
      if (unique.has(`${!isNegated}${node.id}`)) return this.impossible;
      unique.set(`${isNegated}${node.id}`, { node, isNegated });
    }
    const key = [...unique.keys()].join(" ");
    let state = this.#states.get(key);
    if (state === undefined) {
      this.meter.charge(200);
      state = { key, literals: [...unique.values()] };
      this.#states.set(key, state);
    }
    return state;
  }

  /** Returns the strings that `literal` allows. */
  strings(literal: Literal): Regular {
    return this.#languages.allowed([literal], "string");
  }

  /** Returns the texts of the scalars in `state`. */
  texts(state: State): Regular {
    if (state === this.impossible) return never;
    let texts = this.#texts.get(state);
    if (texts === undefined) {
      const some = scalars.map((type) => this.#scalars(state, type)).filter((regular) => !this.isNever(regular));
      texts = some.length === 0 ? never : choice(some);
      this.#texts.set(state, texts);
    }
    return texts;
  }

  #scalars(state: State, type: Scalar): Regular {
    const allowed = this.#languages.allowed(state.literals, type);
    if (type !== "number" || allowed.kind === "text" || this.isNever(allowed)) return allowed;
    const known = this.#printable.get(allowed) ?? this.live(and([allowed, printable]));
    this.#printable.set(allowed, known);
    return known;
  }

  /** Returns clauses of which one holds exactly for the objects or arrays in `state`. */
  clauses(state: State, type: Container): readonly Clause[] {
    if (state === this.impossible) return [];
    let read = this.#read.get(state);
    if (read === undefined) {
      read = { object: this.#clauses.of(state.literals, "object"), array: this.#clauses.of(state.literals, "array") };
      this.#read.set(state, read);
    }
    return read[type];
  }

  /** Records that `regular` matches some text, which saves a search. */
  live(regular: Regular): Regular {
    this.#live.add(regular);
    return regular;
  }

  /** Returns whether `regular` matches no text. Only intersections and complements need a search. */
  isNever(regular: Regular): boolean {
    switch (regular.kind) {
      case "text":
        return false;
      case "bytes":
      case "codePoints":
        return regular.ranges.length === 0;
      case "sequence":
        return regular.items.some((item) => this.isNever(item));
      case "choice":
        return regular.items.every((item) => this.isNever(item));
      case "repeat":
        return regular.min > 0 && this.isNever(regular.item);
      default:
        return !this.#live.has(regular) && !this.#automaton.isLive(this.#node(regular));
    }
  }

  /** Returns whether `regular` matches `text`. */
  matches(regular: Regular, text: string): boolean {
    let node = this.#node(regular);
    for (const byte of encoder.encode(text)) {
      node = this.#automaton.next(node, byte);
      if (node === neverNode) return false;
    }
    return node.isNullable;
  }

  /** Returns whether `state` surely has no value; false where that takes a longer search. */
  isEmpty(state: State): boolean {
    if (state === this.impossible) return true;
    const known = this.#empty.get(state);
    if (known !== undefined) return known;
    if (this.#lookahead >= maximumLookahead) return false;
    this.#empty.set(state, false);
    this.#lookahead++;
    const isEmpty =
      this.texts(state) === never && containers.every((type) => this.clauses(state, type).every((clause) => this.isDead(clause, type)));
    this.#lookahead--;
    this.#empty.set(state, isEmpty);
    return isEmpty;
  }

  /** Returns whether surely no object or array meets `clause`. */
  isDead(clause: Clause, type: Container): boolean {
    if (clause.some(({ atom }) => atom.kind === "refused")) return false;
    if (type === "array") {
      const { prefix, rest, min, max } = arrayShape(clause, this);
      if (min > max) return true;
      const required = min > prefix.length ? [...prefix, rest] : prefix.slice(0, min);
      return required.some((state) => this.isEmpty(state));
    }
    return objectShapes(clause, this, true).every(({ names, max }) => {
      const required = names.filter(({ isRequired }) => isRequired);
      return required.length > max || required.some(({ state }) => this.isEmpty(state));
    });
  }

  /** Returns the texts of the values in `state` if they are few scalars, one for each value. */
  finiteTexts(state: State): readonly string[] | undefined {
    if (state === this.impossible) return [];
    if (this.clauses(state, "object").length > 0 || this.clauses(state, "array").length > 0) return undefined;
    for (const { node, isNegated } of state.literals) {
      const texts = isNegated ? undefined : this.#finite({ kind: "schema", node });
      if (texts !== undefined) return [...new Set(texts)].filter((text) => this.matches(this.texts(state), text));
    }
    return undefined;
  }

  #finite(formula: Formula): readonly string[] | undefined {
    switch (formula.kind) {
      case "all":
        return this.#finiteAll(formula.of);
      case "any":
      case "one": {
        const parts = formula.of.map((part) => this.#finite(part));
        return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
      }
      case "schema":
        return this.#finite(this.#reader.formula(formula.node));
      case "types":
        return this.#finiteAll([formula]);
      default:
        return undefined;
    }
  }

  /** Texts where one of the parts has few values, or where each type that is left does. */
  #finiteAll(parts: readonly Formula[]): readonly string[] | undefined {
    const [types, ...furtherTypes] = parts.filter((part) => part.kind === "types").map((part) => part.types);
    if (types !== undefined) {
      const left = [...types].filter((type) => furtherTypes.every((set) => set.has(type)));
      const texts = left.map((type) => finiteTextsOf(type, parts));
      if (texts.every((some) => some !== undefined)) return texts.flat();
    }
    for (const part of parts) {
      const texts = part.kind === "types" ? undefined : this.#finite(part);
      if (texts !== undefined) return texts;
    }
    return undefined;
  }

  #node(regular: Regular): Node {
    let node = this.#nodes.get(regular);
    if (node === undefined) {
      node = this.#automaton.stateOf(regular);
      this.#nodes.set(regular, node);
    }
    return node;
  }

  /** Follows schemas that are nothing but a reference. */
  #target({ node, isNegated }: Literal): Literal {
    const seen = new Set<SchemaNode>();
    for (let formula = this.#reader.formula(node); formula.kind === "schema" && !seen.has(node); formula = this.#reader.formula(node)) {
      seen.add(node);
      node = formula.node;
    }
    return { node, isNegated };
  }
}

function finiteTextsOf(type: Kind, parts: readonly Formula[]): readonly string[] | undefined {
  if (type === "null") return ["null"];
  if (type === "boolean") return ["true", "false"];
  for (const part of parts) if (part.kind === "scalar" && part.type === type && part.texts !== undefined) return part.texts;
  return undefined;
}
