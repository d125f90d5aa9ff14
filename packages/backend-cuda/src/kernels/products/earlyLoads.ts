import { elementAt } from "@centella/core/backend";
import type { NumberType, Value } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import { typeOf, type Var } from "../../ptx/writer.ts";
import type { Scope } from "../shared/kernel.ts";

type Loaded = Value<NumberType> | readonly Value<NumberType>[];

/**
 * Loads of a body that are made before the rest of it: the body is written twice. What the first text computes from them is not used, and
 * compilers drop it; the second text takes their results in the same order. Both are written where the same threads run them.
 */
export class EarlyLoads {
  readonly #results: (readonly Var<NumberType>[])[] = [];
  #taken = 0;

  /** A scope that makes the loads. */
  recorded(scope: Scope): Scope {
    return withLoads(scope, (load) => {
      const result = load();
      this.#results.push(keptOf(scope.k, [result].flat()));
      return result;
    });
  }

  /** A scope in which loads have the results of the recorded ones. */
  replayed(scope: Scope): Scope {
    return withLoads(scope, () => {
      const values = elementAt(this.#results, this.#taken++).map((variable) => variable.get());
      return values.length === 1 ? elementAt(values, 0) : values;
    });
  }
}

/** Variables with these values, which may be read where other paths lead, too. */
export function keptOf(k: PtxEmitter, values: readonly Value<NumberType>[]): readonly Var<NumberType>[] {
  return values.map((value) => {
    const variable = k.outerVariable<NumberType>(typeOf(value) as NumberType, 0);
    variable.set(value);
    return variable;
  });
}

/** A scope in which `use` runs in place of each load: each method of the emitter whose name begins so. */
function withLoads(scope: Scope, use: (load: () => Loaded) => Loaded): Scope {
  const k = new Proxy(scope.k, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const method = member.bind(target) as (...args: unknown[]) => Loaded;
      return typeof name === "string" && name.startsWith("load") ? (...args: unknown[]) => use(() => method(...args)) : method;
    },
  });
  return { ...scope, k };
}
