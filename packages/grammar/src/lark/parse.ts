import { type Cursor, ruleBytes } from "../source/cursor.ts";
import { commonTerminals } from "./common.ts";
import { LarkItemParser, ruleName, terminalName } from "./items.ts";
import type { Definition, LarkDirective, LarkSource, Node } from "./syntax.ts";

const name = /[a-zA-Z_][a-zA-Z0-9_-]*/y;

/** Parses a grammar in llguidance's variant of Lark's notation. @throws GrammarError with line and column */
export function parseLark(cursor: Cursor): LarkSource {
  return new LarkParser(cursor).parse();
}

class LarkParser extends LarkItemParser {
  readonly #rules = new Map<string, Definition>();
  readonly #terminals = new Map<string, Definition>();
  readonly #ignored: Node[] = [];
  #options: LarkDirective = { allow_initial_skip: false, ignore_once: false };

  parse(): LarkSource {
    for (this.skipLines(); !this.cursor.isAtEnd; this.skipLines()) this.#statement();
    return { rules: this.#rules, terminals: this.#terminals, ignored: this.#ignored, options: this.#options };
  }

  #statement(): void {
    const { cursor } = this;
    const at = cursor.position;
    if (cursor.next === "%") this.#directive(at);
    else {
      cursor.take(/[!?]+/y);
      const isTerminal = cursor.at(cursor.next === "_" ? 1 : 0) <= "Z";
      const defined = cursor.expect(isTerminal ? terminalName : ruleName, "a rule, a terminal or a directive");
      this.#define(isTerminal ? this.#terminals : this.#rules, defined, at);
    }
    this.skipSpace();
    if (!cursor.isAtEnd && !cursor.take(/\r?\n/y)) throw cursor.error("an item, | or the end of the line");
  }

  #define(definitions: Map<string, Definition>, defined: string, at: number): void {
    const { cursor } = this;
    if (definitions.has(defined)) throw cursor.error(`one definition of ${defined}`, at);
    this.#refuseNext("{", "template");
    this.#refuseNext("::", "parametric rule");
    this.skipSpace();
    this.#refuseNext(".", "priority");
    const attributes = definitions === this.#rules ? this.#attributes() : { isLazy: false, suffix: undefined };
    this.skipSpace();
    cursor.expect(":", `: after ${defined}`);
    cursor.meter.charge(ruleBytes);
    definitions.set(defined, { at, ...attributes, body: this.alternatives() });
  }

  #refuseNext(text: string, construct: string): void {
    const at = this.cursor.position;
    if (this.cursor.take(text)) throw this.cursor.unsupported(construct, at);
  }

  /** `[lazy, suffix=…]` after the name of a rule. Attributes that do more than restrict text are refused. */
  #attributes(): { isLazy: boolean; suffix: Node | undefined } {
    const { cursor } = this;
    let [isLazy, suffix]: [boolean, Node | undefined] = [false, undefined];
    if (!cursor.take("[")) return { isLazy, suffix };
    do {
      this.skipSpace();
      const at = cursor.position;
      const attribute = cursor.expect(name, "an attribute");
      if (attribute !== "lazy" && attribute !== "suffix") throw cursor.unsupported(`attribute ${attribute}`, at);
      isLazy = true;
      this.skipSpace();
      if (attribute === "suffix") {
        cursor.expect("=", "= after suffix");
        this.skipSpace();
        suffix = this.value();
        this.skipSpace();
      }
    } while (cursor.take(","));
    cursor.expect("]", "a , or ] after an attribute");
    return { isLazy, suffix };
  }

  #directive(at: number): void {
    const { cursor } = this;
    const directive = cursor.take(/%[a-z]*/y) as string;
    this.skipSpace();
    if (directive === "%ignore") this.#ignored.push(this.alternatives());
    else if (directive === "%import") this.#import();
    else if (directive === "%llguidance") this.#setOptions(at);
    else throw cursor.unsupported(`directive ${directive}`, at, "%ignore, %import and %llguidance are supported");
  }

  /** `%import common.INT`, `%import common.INT -> NUMBER` or `%import common (INT, WS)`. */
  #import(): void {
    const { cursor } = this;
    const at = cursor.position;
    const from = cursor.take(/[a-zA-Z0-9_.-]*/y) as string;
    this.skipSpace();
    if (cursor.take("(")) {
      do {
        this.skipLines();
        this.#importTerminal(`${from}.${cursor.expect(name, "the name of a terminal")}`, undefined, at);
        this.skipLines();
      } while (cursor.take(","));
      cursor.expect(")", "a , or ) after a name");
      return;
    }
    const isRenamed = cursor.take("->") !== undefined;
    if (isRenamed) this.skipSpace();
    this.#importTerminal(from, isRenamed ? cursor.expect(terminalName, "the name of a terminal") : undefined, at);
  }

  #importTerminal(path: string, renamed: string | undefined, at: number): void {
    const { cursor } = this;
    const [, imported] = /^common\.(.*)$/.exec(path) ?? [];
    if (imported === undefined || !Object.hasOwn(commonTerminals, imported))
      throw cursor.unsupported(`import of ${path}`, at, `common has ${Object.keys(commonTerminals).join(", ")}`);
    const defined = renamed ?? imported;
    if (this.#terminals.has(defined)) throw cursor.error(`one definition of ${defined}`, at);
    const body: Node = { kind: "regex", source: commonTerminals[imported] as string, flags: "", at };
    this.#terminals.set(defined, { at, body, isLazy: false, suffix: undefined });
  }

  #setOptions(at: number): void {
    const { cursor } = this;
    const value = this.jsonObject();
    for (const [option, setting] of Object.entries(value)) {
      if (setting === false) continue;
      if (!Object.hasOwn(this.#options, option)) throw cursor.unsupported(`option ${option}`, at);
      if (setting !== true) throw cursor.error(`true or false for ${option}`, at);
      this.#options = { ...this.#options, [option]: true };
    }
  }
}
