import { bind } from "./calls.ts";
import { EvaluationError } from "./errors.ts";
import { applyFilter } from "./filters.ts";
import { methodOf } from "./methods.ts";
import { binaryLevels, type Comparison, comparisons } from "./operators.ts";
import type { Scope } from "./scope.ts";
import { slice } from "./slice.ts";
import { tests } from "./tests.ts";
import { Text } from "./text.ts";
import type { TokenStream } from "./tokenStream.ts";
import { type Arguments, Callable, Dict, elementsOf, Float, isTrue, List, memberOf, numberOf, typeName, type Value } from "./values.ts";

/** A compiled expression. */
export type Expression = (scope: Scope) => Value;

const constants: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

/** Names that cannot start an unparenthesised test argument. */
const afterTest: readonly string[] = ["else", "or", "and", "if", "is", "in", "not"];

/** Compiles tokens to expressions, with Jinja's precedence. */
export class ExpressionParser {
  readonly tokens: TokenStream;

  constructor(tokens: TokenStream) {
    this.tokens = tokens;
  }

  /** One expression, with `a if b else c`. */
  expression(): Expression {
    return this.tokens.nested(() => this.#conditional());
  }

  /** An expression, or several separated by commas as a tuple. */
  tuple(): Expression {
    const first = this.expression();
    if (!this.tokens.sees(",")) return first;
    const items = [first];
    while (this.tokens.accept(",")) {
      if (this.#endsTuple()) break;
      items.push(this.expression());
    }
    return list(items, true);
  }

  /** An expression without `if`, such as a loop's iterable. */
  withoutCondition(): Expression {
    return this.tokens.nested(() => this.#or());
  }

  #endsTuple(): boolean {
    const { type } = this.tokens.current;
    return type === "blockEnd" || type === "outputEnd" || this.tokens.sees(")") || this.tokens.sees("]");
  }

  #conditional(): Expression {
    const value = this.#or();
    if (!this.tokens.accept("if")) return value;
    const condition = this.#or();
    const otherwise = this.tokens.accept("else") ? this.expression() : undefined;
    return (scope) => (isTrue(condition(scope)) ? value(scope) : otherwise?.(scope));
  }

  #or(): Expression {
    let left = this.#and();
    while (this.tokens.accept("or")) {
      const [first, second] = [left, this.#and()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? value : second(scope);
      };
    }
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.tokens.accept("and")) {
      const [first, second] = [left, this.#not()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? second(scope) : value;
      };
    }
    return left;
  }

  #not(): Expression {
    if (!this.tokens.accept("not")) return this.#comparison();
    const operand = this.tokens.nested(() => this.#not());
    return (scope) => !isTrue(operand(scope));
  }

  /** Comparisons. `a < b < c` means `a < b and b < c`. */
  #comparison(): Expression {
    const first = this.#binary(0);
    const rest: { readonly holds: Comparison; readonly operand: Expression }[] = [];
    for (let holds = this.#comparisonOperator(); holds !== undefined; holds = this.#comparisonOperator()) {
      rest.push({ holds, operand: this.#binary(0) });
    }
    if (rest.length === 0) return first;
    return (scope) => {
      let left = first(scope);
      return rest.every(({ holds, operand }) => {
        const right = operand(scope);
        const result = holds(left, right, scope.run.budget);
        left = right;
        return result;
      });
    };
  }

  #comparisonOperator(): Comparison | undefined {
    const { type, text } = this.tokens.current;
    if (type !== "operator" && type !== "name") return undefined;
    if (text === "not") {
      this.tokens.take();
      this.tokens.expect("in");
      return comparisons.get("not in");
    }
    const found = comparisons.get(text);
    if (found !== undefined) this.tokens.take();
    return found;
  }

  #binary(level: number): Expression {
    const operators = binaryLevels[level];
    if (operators === undefined) return this.#unary(true);
    let left = this.#binary(level + 1);
    for (;;) {
      const { type, text } = this.tokens.current;
      const compute = type === "operator" ? operators.get(text) : undefined;
      if (compute === undefined) return left;
      this.tokens.take();
      const [first, second] = [left, this.#binary(level + 1)];
      left = (scope) => {
        const { budget } = scope.run;
        budget.spend(1);
        return compute(first(scope), second(scope), budget);
      };
    }
  }

  #unary(takesFilters: boolean): Expression {
    const sign = this.tokens.accept("-") ? -1 : this.tokens.accept("+") ? 1 : 0;
    const operand =
      sign === 0
        ? this.#primary()
        : signed(
            sign,
            this.tokens.nested(() => this.#unary(false)),
          );
    const value = this.#postfix(operand);
    return takesFilters ? this.#filters(value) : value;
  }

  #primary(): Expression {
    const { type, text } = this.tokens.current;
    if (type === "name") {
      this.tokens.take();
      if (constants.has(text)) return constant(constants.get(text));
      return (scope) => scope.get(text);
    }
    if (type === "string") {
      let value = "";
      while (this.tokens.current.type === "string") value += this.tokens.take().text;
      return constant(Text.of(value, "t"));
    }
    if (type === "integer" || type === "float") {
      const number = Number(this.tokens.take().text.replaceAll("_", ""));
      return constant(type === "integer" ? number : new Float(number));
    }
    if (this.tokens.accept("(")) {
      if (this.tokens.accept(")")) return list([], true);
      const value = this.tuple();
      this.tokens.expect(")");
      return value;
    }
    if (this.tokens.accept("[")) return list(this.#items("]"), false);
    if (this.tokens.accept("{")) return this.#dict();
    throw this.tokens.unexpected("an expression");
  }

  /** Expressions separated by commas, up to and including the closing bracket. */
  #items(closing: string): Expression[] {
    const items: Expression[] = [];
    while (!this.tokens.accept(closing)) {
      if (items.length > 0) this.tokens.expect(",");
      if (this.tokens.accept(closing)) break;
      items.push(this.expression());
    }
    return items;
  }

  #dict(): Expression {
    const entries: { readonly key: Expression; readonly value: Expression }[] = [];
    while (!this.tokens.accept("}")) {
      if (entries.length > 0) this.tokens.expect(",");
      if (this.tokens.accept("}")) break;
      const key = this.expression();
      this.tokens.expect(":");
      entries.push({ key, value: this.expression() });
    }
    return (scope) => {
      scope.run.budget.spendOnElements(entries.length);
      const dict = new Dict();
      for (const { key, value } of entries) dict.set(key(scope), value(scope));
      return dict;
    };
  }

  /** Members, subscripts and calls. */
  #postfix(operand: Expression): Expression {
    let value = operand;
    for (;;) {
      if (this.tokens.accept(".")) value = this.#member(value);
      else if (this.tokens.accept("[")) value = this.#subscript(value);
      else if (this.tokens.sees("(")) value = this.#call(value);
      else return value;
    }
  }

  #member(owner: Expression): Expression {
    const { type, text, at } = this.tokens.take();
    if (type === "integer") return member(owner, constant(Number(text)));
    if (type !== "name") throw this.tokens.unexpected("a name or a number after a point");
    const key = Text.of(text, "t");
    return (scope) => {
      const value = ownerOf(owner, scope, text, at);
      return methodOf(value, text) ?? memberOf(value, key, scope.run.budget);
    };
  }

  #subscript(owner: Expression): Expression {
    const from = this.tokens.sees(":") ? undefined : this.tuple();
    if (from !== undefined && this.tokens.accept("]")) return member(owner, from);
    this.tokens.expect(":");
    const bound = (): Expression | undefined => (this.tokens.sees(":") || this.tokens.sees("]") ? undefined : this.expression());
    const to = bound();
    const step = this.tokens.accept(":") ? bound() : undefined;
    this.tokens.expect("]");
    return (scope) => slice(owner(scope), [from?.(scope), to?.(scope), step?.(scope)], scope.run.budget);
  }

  #call(callee: Expression): Expression {
    const { at } = this.tokens.current;
    const args = this.arguments();
    return (scope) => {
      const { run } = scope;
      run.budget.spend(1);
      const called = callee(scope);
      const evaluated = args(scope);
      run.at = at;
      if (called instanceof Callable) return called.call(evaluated, run.budget);
      throw new EvaluationError(`expected a function or a macro to call, got ${typeName(called)}`);
    };
  }

  /** Arguments in parentheses. */
  arguments(): (scope: Scope) => Arguments {
    this.tokens.expect("(");
    const positional: { readonly value: Expression; readonly isSpread: boolean }[] = [];
    const named: { readonly name: string | undefined; readonly value: Expression }[] = [];
    for (let isFirst = true; !this.tokens.accept(")"); isFirst = false) {
      if (!isFirst) {
        this.tokens.expect(",");
        if (this.tokens.accept(")")) break;
      }
      if (this.tokens.accept("**")) named.push({ name: undefined, value: this.expression() });
      else if (this.tokens.accept("*")) positional.push({ value: this.expression(), isSpread: true });
      else if (this.tokens.current.type === "name" && this.tokens.next.text === "=" && this.tokens.next.type === "operator") {
        const name = this.tokens.name();
        this.tokens.expect("=");
        named.push({ name, value: this.expression() });
      } else positional.push({ value: this.expression(), isSpread: false });
    }
    return (scope) => ({
      positional: positional.flatMap(({ value, isSpread }) =>
        isSpread ? [...elementsOf(value(scope), scope.run.budget)] : [value(scope)],
      ),
      named: new Map(
        named.flatMap(({ name, value }) => (name === undefined ? spreadEntries(value(scope)) : [[name, value(scope)] as const])),
      ),
    });
  }

  /** Filters and tests, which bind tighter than any operator. */
  #filters(operand: Expression): Expression {
    let value = operand;
    for (;;) {
      if (this.tokens.accept("|")) value = this.filter(value);
      else if (this.tokens.accept("is")) value = this.#test(value);
      else if (this.tokens.sees("(")) value = this.#call(value);
      else return value;
    }
  }

  /** A filter, after the `|`, applied to `operand`. */
  filter(operand: Expression): Expression {
    const { at } = this.tokens.current;
    const name = this.tokens.name();
    const args = this.tokens.sees("(") ? this.arguments() : noArguments;
    return (scope) => {
      const value = operand(scope);
      const evaluated = args(scope);
      scope.run.at = at;
      return applyFilter(name, value, evaluated, scope.run.budget);
    };
  }

  #test(operand: Expression): Expression {
    const isNegated = this.tokens.accept("not");
    const { at } = this.tokens.current;
    const name = this.tokens.name();
    const args = this.#testArguments();
    return (scope) => {
      const { budget } = scope.run;
      budget.spend(1);
      const test = tests.get(name);
      if (test === undefined) throw new EvaluationError(`expected a test that Jinja has, got "${name}"`);
      const value = operand(scope);
      const bound = bind(name, test.parameters, args(scope));
      scope.run.at = at;
      return isTrue(test.apply(budget, value, ...bound)) !== isNegated;
    };
  }

  /** Arguments of a test: in parentheses, or a single one without. */
  #testArguments(): (scope: Scope) => Arguments {
    if (this.tokens.sees("(")) return this.arguments();
    const { type, text } = this.tokens.current;
    const isValue = type === "string" || type === "integer" || type === "float" || (type === "name" && !afterTest.includes(text));
    if (!isValue && !this.tokens.sees("[") && !this.tokens.sees("{")) return noArguments;
    const argument = this.#postfix(this.#primary());
    return (scope) => ({ positional: [argument(scope)], named: new Map() });
  }
}

const noArguments = (): Arguments => ({ positional: [], named: new Map() });

function constant(value: Value): Expression {
  return () => value;
}

function signed(sign: number, operand: Expression): Expression {
  return (scope) => {
    const value = operand(scope);
    const number = numberOf(value);
    if (number === undefined) throw new EvaluationError(`expected a number after a sign, got ${typeName(value)}`);
    return value instanceof Float ? new Float(sign * number) : sign * number;
  };
}

function list(items: readonly Expression[], isTuple: boolean): Expression {
  return (scope) => {
    scope.run.budget.spendOnElements(items.length);
    return new List(
      items.map((item) => item(scope)),
      isTuple,
    );
  };
}

/** `owner[key]`, or a method of that name, as Jinja finds one. */
function member(owner: Expression, key: Expression): Expression {
  return (scope) => {
    const name = key(scope);
    const value = ownerOf(owner, scope, name instanceof Text ? name.value : "an element", scope.run.at);
    const found = memberOf(value, name, scope.run.budget);
    return found === undefined && name instanceof Text ? methodOf(value, name.value) : found;
  };
}

/** @throws {EvaluationError} if `owner` is undefined: the template is wrong, or a message lacks a field */
function ownerOf(owner: Expression, scope: Scope, name: string, at: number): Value {
  scope.run.budget.spend(1);
  const value = owner(scope);
  if (value !== undefined) return value;
  scope.run.at = at;
  throw new EvaluationError(`expected a value that has ${JSON.stringify(name)}, got undefined`);
}

function spreadEntries(value: Value): (readonly [string, Value])[] {
  if (!(value instanceof Dict)) throw new EvaluationError(`expected a mapping after "**", got ${typeName(value)}`);
  return [...value.entries.values()].map(([key, item]) => [key instanceof Text ? key.value : String(key), item] as const);
}
