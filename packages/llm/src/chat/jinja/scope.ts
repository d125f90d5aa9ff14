import type { Budget } from "./budget.ts";
import type { Value } from "./values.ts";

/** State of one rendering. */
export interface Run {
  readonly budget: Budget;
  /** Source offset of the node that is being evaluated, for errors. */
  at: number;
}

/** Variables that are visible at one point of a template. */
export class Scope {
  readonly run: Run;
  readonly #parent: Scope | undefined;
  readonly #variables = new Map<string, Value>();

  constructor(run: Run, parent?: Scope) {
    this.run = run;
    this.#parent = parent;
  }

  /** Creates a nested scope. */
  inner(): Scope {
    return new Scope(this.run, this);
  }

  get(name: string): Value {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.#parent) {
      if (scope.#variables.has(name)) return scope.#variables.get(name);
    }
    return undefined;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}
