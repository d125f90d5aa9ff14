import { elementAt } from "@centella/quant/checks";
import { SyntaxFault } from "./errors.ts";
import type { Token } from "./lexer.ts";

/** Maximum nesting of blocks and brackets. Deeper nesting could overflow the stack. */
const maxDepth = 100;

/** A cursor over tokens. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return elementAt(this.#tokens, this.#next);
  }

  /** The token after the current one. */
  get next(): Token {
    return this.#tokens[this.#next + 1] ?? this.current;
  }

  take(): Token {
    return elementAt(this.#tokens, this.#next++);
  }

  /** Whether the next token is this operator or name. */
  sees(text: string): boolean {
    const { type, text: got } = this.current;
    return got === text && (type === "operator" || type === "name");
  }

  /** Consumes the next token if it is this operator or name. */
  accept(text: string): boolean {
    if (!this.sees(text)) return false;
    this.#next++;
    return true;
  }

  /** @throws {SyntaxFault} */
  expect(text: string): void {
    if (!this.accept(text)) throw this.unexpected(`"${text}"`);
  }

  /** @throws {SyntaxFault} */
  expectType(type: Token["type"], what: string): Token {
    if (this.current.type !== type) throw this.unexpected(what);
    return this.take();
  }

  name(): string {
    return this.expectType("name", "a name").text;
  }

  unexpected(expected: string): SyntaxFault {
    const { type, text, at } = this.current;
    const got =
      type === "end" ? "the end of the template" : type === "blockEnd" ? '"%}"' : type === "outputEnd" ? '"}}"' : JSON.stringify(text);
    return new SyntaxFault(`expected ${expected}, got ${got}`, at);
  }

  /** Runs a recursive parser. @throws {SyntaxFault} if it is nested too deeply */
  nested<T>(parse: () => T): T {
    if (this.#depth >= maxDepth)
      throw new SyntaxFault(`expected blocks and brackets nested at most ${maxDepth} deep, got more`, this.current.at);
    this.#depth++;
    const parsed = parse();
    this.#depth--;
    return parsed;
  }
}
