import { TextBuilder } from "./budget.ts";
import { bind } from "./calls.ts";
import { EvaluationError, SyntaxFault } from "./errors.ts";
import { type Expression, ExpressionParser } from "./expressions.ts";
import type { Scope } from "./scope.ts";
import { Text } from "./text.ts";
import type { TokenStream } from "./tokenStream.ts";
import { toText } from "./toText.ts";
import { type Arguments, Attributes, Callable, elementsOf, isTrue, Namespace, typeName, type Value } from "./values.ts";

/** Control flow that a statement requests from the enclosing loop. */
type Flow = "break" | "continue" | undefined;

/** A compiled statement: writes its text to `out`. */
export type Statement = (scope: Scope, out: TextBuilder) => Flow;

/** A compiled assignment target. */
type Target = (scope: Scope, value: Value) => void;

interface Parameter {
  readonly name: string;
  readonly fallback: Expression | undefined;
}

/** Compiles tokens to statements. */
export class StatementParser {
  readonly #tokens: TokenStream;
  readonly #expressions: ExpressionParser;

  constructor(tokens: TokenStream) {
    this.#tokens = tokens;
    this.#expressions = new ExpressionParser(tokens);
  }

  /** The whole template. @throws {SyntaxFault} */
  template(): Statement {
    const body = this.#body([]);
    if (this.#tokens.current.type !== "end") throw this.#tokens.unexpected("text or a block");
    return body;
  }

  /** Statements up to a block that begins with one of `ends`. That name is not consumed. */
  #body(ends: readonly string[]): Statement {
    const statements: Statement[] = [];
    for (;;) {
      const { type, text, at } = this.#tokens.current;
      if (type === "end") {
        if (ends.length > 0) throw this.#tokens.unexpected(`{% ${ends.join(" %} or {% ")} %}`);
        break;
      }
      this.#tokens.take();
      if (type === "text") {
        const literal = Text.of(text, "t");
        statements.push((_, out) => void out.add(literal));
      } else if (type === "outputStart") {
        const value = this.#expressions.tuple();
        this.#tokens.expectType("outputEnd", '"}}"');
        statements.push((scope, out) => {
          scope.run.at = at;
          out.add(toText(value(scope), scope.run.budget));
          return undefined;
        });
      } else {
        if (ends.includes(this.#tokens.current.text)) break;
        statements.push(this.#tokens.nested(() => this.#block(at)));
      }
    }
    return (scope, out) => {
      for (const statement of statements) {
        scope.run.budget.spend(1);
        const flow = statement(scope, out);
        if (flow !== undefined) return flow;
      }
      return undefined;
    };
  }

  #endBlock(): void {
    this.#tokens.expectType("blockEnd", '"%}"');
  }

  /** A body and its end block. */
  #closedBody(end: string): Statement {
    this.#endBlock();
    const body = this.#body([end]);
    this.#tokens.take();
    this.#endBlock();
    return body;
  }

  #block(at: number): Statement {
    const name = this.#tokens.name();
    switch (name) {
      case "if":
        return this.#if();
      case "for":
        return this.#for(at);
      case "set":
        return this.#set(at);
      case "macro":
        return this.#macro();
      case "call":
        return this.#callBlock(at);
      case "filter":
        return this.#filterBlock(at);
      case "with":
        return this.#with();
      case "generation":
        // Marks the model's own text, for training.
        return this.#closedBody("endgeneration");
      case "break":
      case "continue":
        this.#endBlock();
        return () => name;
      default:
        throw new SyntaxFault(`expected a block that chat templates have, got ${JSON.stringify(name)}`, at);
    }
  }

  #if(): Statement {
    const branches: { readonly condition: Expression; readonly body: Statement }[] = [];
    let otherwise: Statement | undefined;
    for (let keyword = "if"; keyword !== "endif"; keyword = this.#tokens.name()) {
      if (keyword === "else") {
        this.#endBlock();
        otherwise = this.#body(["endif"]);
      } else {
        const condition = this.#expressions.tuple();
        this.#endBlock();
        branches.push({ condition, body: this.#body(["elif", "else", "endif"]) });
      }
    }
    this.#endBlock();
    return (scope, out) => {
      for (const { condition, body } of branches) if (isTrue(condition(scope))) return body(scope, out);
      return otherwise?.(scope, out);
    };
  }

  #for(at: number): Statement {
    const target = this.#target();
    this.#tokens.expect("in");
    const iterable = this.#expressions.withoutCondition();
    const condition = this.#tokens.accept("if") ? this.#expressions.expression() : undefined;
    this.#endBlock();
    const body = this.#body(["else", "endfor"]);
    let otherwise: Statement | undefined;
    if (this.#tokens.name() === "else") {
      this.#endBlock();
      otherwise = this.#body(["endfor"]);
      this.#tokens.take();
    }
    this.#endBlock();
    return (scope, out) => {
      scope.run.at = at;
      const all = [...elementsOf(iterable(scope), scope.run.budget)];
      scope.run.budget.spend(all.length);
      const items = condition === undefined ? all : all.filter((item) => holdsFor(scope, target, item, condition));
      if (items.length === 0) return otherwise?.(scope, out);
      for (const [i, item] of items.entries()) {
        const inner = scope.inner();
        target(inner, item);
        inner.set("loop", new Loop(items, i));
        if (body(inner, out) === "break") break;
      }
      return undefined;
    };
  }

  /** A name, several names with or without parentheses, or an attribute of a namespace. */
  #target(): Target {
    const first = this.#oneTarget();
    if (!this.#tokens.sees(",")) return first;
    const targets = [first];
    while (this.#tokens.accept(",") && (this.#tokens.current.type === "name" || this.#tokens.sees("("))) targets.push(this.#oneTarget());
    return (scope, value) => {
      const items = elementsOf(value, scope.run.budget);
      if (items.length !== targets.length) throw new EvaluationError(`expected ${targets.length} values to unpack, got ${items.length}`);
      for (const [i, target] of targets.entries()) target(scope, items[i]);
    };
  }

  #oneTarget(): Target {
    if (!this.#tokens.accept("(")) return this.#simpleTarget();
    const target = this.#tokens.nested(() => this.#target());
    this.#tokens.expect(")");
    return target;
  }

  #simpleTarget(): Target {
    const name = this.#tokens.name();
    if (!this.#tokens.accept(".")) return (scope, value) => scope.set(name, value);
    const attribute = this.#tokens.name();
    return (scope, value) => {
      const owner = scope.get(name);
      if (!(owner instanceof Namespace))
        throw new EvaluationError(`expected a namespace to assign ${JSON.stringify(attribute)} to, got ${typeName(owner)}`);
      owner.set(attribute, value);
    };
  }

  #set(at: number): Statement {
    const target = this.#target();
    if (this.#tokens.accept("=")) {
      const value = this.#expressions.tuple();
      this.#endBlock();
      return (scope) => {
        scope.run.at = at;
        target(scope, value(scope));
        return undefined;
      };
    }
    const value = this.#filtered(captured);
    const body = this.#closedBody("endset");
    return (scope) => {
      target(scope, value(capturing(body, scope)));
      return undefined;
    };
  }

  #filterBlock(at: number): Statement {
    const value = this.#filtered(this.#expressions.filter(captured));
    const body = this.#closedBody("endfilter");
    return (scope, out) => {
      scope.run.at = at;
      out.add(toText(value(capturing(body, scope)), scope.run.budget));
      return undefined;
    };
  }

  /** A chain of filters, each after a `|`. */
  #filtered(operand: Expression): Expression {
    let value = operand;
    while (this.#tokens.accept("|")) value = this.#expressions.filter(value);
    return value;
  }

  #with(): Statement {
    const assignments: { readonly target: Target; readonly value: Expression }[] = [];
    while (this.#tokens.current.type === "name") {
      const target = this.#simpleTarget();
      this.#tokens.expect("=");
      assignments.push({ target, value: this.#expressions.expression() });
      if (!this.#tokens.accept(",")) break;
    }
    const body = this.#closedBody("endwith");
    return (scope, out) => {
      const inner = scope.inner();
      for (const { target, value } of assignments) target(inner, value(scope));
      return body(inner, out);
    };
  }

  #macro(): Statement {
    const name = this.#tokens.name();
    const parameters = this.#parameters();
    const body = this.#closedBody("endmacro");
    return (scope) => {
      scope.set(name, macro(name, parameters, body, scope));
      return undefined;
    };
  }

  #parameters(): Parameter[] {
    const parameters: Parameter[] = [];
    this.#tokens.expect("(");
    while (!this.#tokens.accept(")")) {
      if (parameters.length > 0) this.#tokens.expect(",");
      const name = this.#tokens.name();
      parameters.push({ name, fallback: this.#tokens.accept("=") ? this.#expressions.expression() : undefined });
    }
    return parameters;
  }

  /** `{% call(item) list(items) %}…{% endcall %}`: the macro gets the body as `caller`. */
  #callBlock(at: number): Statement {
    const parameters = this.#tokens.sees("(") ? this.#parameters() : [];
    const name = this.#tokens.name();
    const args = this.#expressions.arguments();
    const body = this.#closedBody("endcall");
    return (scope, out) => {
      const called = scope.get(name);
      if (!(called instanceof Callable)) throw new EvaluationError(`expected a macro to call, got ${typeName(called)}`);
      const { positional, named } = args(scope);
      const caller = macro("caller", parameters, body, scope);
      scope.run.at = at;
      out.add(toText(called.call({ positional, named: new Map([...named, ["caller", caller]]) }, scope.run.budget), scope.run.budget));
      return undefined;
    };
  }
}

/** Variable that holds a block's text. No template can spell the name. */
const captured: Expression = (scope) => scope.get("");

function capturing(body: Statement, scope: Scope): Scope {
  const inner = scope.inner();
  inner.set("", capture(body, scope.inner()));
  return inner;
}

/** Runs a body and returns its text. */
function capture(body: Statement, scope: Scope): Text {
  const out = new TextBuilder(scope.run.budget);
  body(scope, out);
  return out.done();
}

function holdsFor(scope: Scope, target: Target, item: Value, condition: Expression): boolean {
  const inner = scope.inner();
  target(inner, item);
  return isTrue(condition(inner));
}

/** The variable `loop`. */
class Loop extends Attributes {
  readonly #items: readonly Value[];
  readonly #index: number;

  constructor(items: readonly Value[], index: number) {
    super();
    this.#items = items;
    this.#index = index;
  }

  get(name: string): Value {
    const { length } = this.#items;
    const index = this.#index;
    switch (name) {
      case "index":
        return index + 1;
      case "index0":
        return index;
      case "revindex":
        return length - index;
      case "revindex0":
        return length - index - 1;
      case "first":
        return index === 0;
      case "last":
        return index === length - 1;
      case "length":
        return length;
      case "previtem":
        return this.#items[index - 1];
      case "nextitem":
        return this.#items[index + 1];
      case "cycle":
        return new Callable(({ positional }) => positional[index % Math.max(1, positional.length)]);
      default:
        return undefined;
    }
  }
}

/** A macro sees the variables of the place where it is defined. */
function macro(name: string, parameters: readonly Parameter[], body: Statement, scope: Scope): Callable {
  const names = parameters.map((parameter) => parameter.name);
  return new Callable((args, budget) =>
    budget.nested(() => {
      const inner = scope.inner();
      const caller = args.named.get("caller");
      if (caller !== undefined) inner.set("caller", caller);
      const bound = bind(name, names, withoutCaller(args));
      for (const [i, { name: parameter, fallback }] of parameters.entries())
        inner.set(parameter, bound[i] === undefined ? fallback?.(inner) : bound[i]);
      return capture(body, inner);
    }),
  );
}

function withoutCaller({ positional, named }: Arguments): Arguments {
  return { positional, named: new Map([...named].filter(([name]) => name !== "caller")) };
}
