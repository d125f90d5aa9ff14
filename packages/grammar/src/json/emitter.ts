import { exceeded } from "../budget.ts";
import { choice, empty, never, reference, terminal } from "../expression/builders.ts";
import type { Expression, Regular, TerminalExpression } from "../expression/types.ts";
import { arrayShape } from "./arrayShape.ts";
import { emitArray } from "./arrays.ts";
import { objectShapes } from "./objectShape.ts";
import { emitObject, type Order } from "./objects.ts";
import type { State } from "./state.ts";
import type { States } from "./states.ts";
import type { Style } from "./style.ts";
import type { Writer } from "./writer.ts";

/** Rules of a grammar. More would not compile within a budget that is meant for interaction. */
const maximumRules = 200_000;

/** Writes the rules for states, each once per level of indentation. */
export class Emitter implements Writer {
  readonly states: States;
  readonly style: Style;
  readonly order: Order;
  readonly rules: Record<string, Expression> = {};
  readonly #terminals = new Map<Regular, TerminalExpression>();
  readonly #names = new Map<string, string>();
  readonly #open: { name: string; state: State; level: number }[] = [];
  #ruleCount = 0;

  constructor(states: States, style: Style, order: Order) {
    this.states = states;
    this.style = style;
    this.order = order;
  }

  /** Returns the expression for the values in `state`, inside as many arrays and objects as `level` says. */
  value(state: State, level: number): Expression {
    if (state === this.states.impossible) return never;
    const isScalar = this.states.clauses(state, "object").length === 0 && this.states.clauses(state, "array").length === 0;
    if (isScalar) return this.terminal(this.states.texts(state));
    const indentation = Math.min(level, this.style.levels - 1);
    const key = `${indentation} ${state.key}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `value${this.#names.size}`;
      this.#names.set(key, name);
      this.#open.push({ name, state, level: indentation });
    }
    return reference(name);
  }

  /** Writes the rules that have been referred to. */
  finish(): void {
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      const { name, state, level } = next;
      const texts = this.states.texts(state);
      const objects = this.states.clauses(state, "object").flatMap((clause) => objectShapes(clause, this.states));
      const arrays = this.states.clauses(state, "array").map((clause) => arrayShape(clause, this.states));
      this.#add(
        name,
        choice([
          ...(texts === never ? [] : [this.terminal(texts)]),
          ...objects.map((shape) => emitObject(shape, this, level + 1, this.order)),
          ...arrays.map((shape) => emitArray(shape, this, level + 1)),
        ]),
      );
    }
  }

  /** Returns a terminal of its own, which all its uses share. */
  terminal(regular: Regular): Expression {
    if (regular === never) return never;
    let found = this.#terminals.get(regular);
    if (found === undefined) {
      found = terminal(regular);
      this.#terminals.set(regular, found);
    }
    return found;
  }

  /** Returns a reference to a new rule for `expression`. */
  rule(expression: Expression): Expression {
    if (expression === never || expression === empty || expression.kind === "reference") return expression;
    const name = `part${this.#ruleCount}`;
    this.#add(name, expression);
    return reference(name);
  }

  /** Returns a reference to a rule that is defined afterwards. */
  later(): { readonly rule: Expression; readonly define: (expression: Expression) => void } {
    const name = `part${this.#ruleCount}`;
    this.#add(name, never);
    return { rule: reference(name), define: (expression) => (this.rules[name] = expression) };
  }

  #add(name: string, expression: Expression): void {
    this.states.meter.charge(200);
    if (++this.#ruleCount > maximumRules) throw exceeded(`a schema of at most ${maximumRules} rules`, "more");
    this.rules[name] = expression;
  }
}
