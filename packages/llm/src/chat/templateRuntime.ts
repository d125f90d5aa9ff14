import { ChatTemplateError } from "../errors.ts";
import { LimitError, RaisedException, SyntaxFault } from "./jinja/errors.ts";
import type { Statement } from "./jinja/statements.ts";
import { compile, render } from "./jinja/template.ts";
import type { Text } from "./jinja/text.ts";

/** Maximum length of a template's source, a hundred times that of real templates. */
const maxSourceLength = 2 ** 20;

/** A Jinja template with the settings of transformers. */
export class JinjaTemplate {
  readonly #source: string;
  readonly #body: Statement;

  /** @throws {ChatTemplateError} with the line if the source is too long or cannot be parsed */
  constructor(source: string) {
    if (source.length > maxSourceLength)
      throw new ChatTemplateError(`chat template: expected at most ${maxSourceLength} characters of source, got ${source.length}`);
    // Offsets refer to the source that the lexer sees.
    this.#source = source.replace(/\r\n?/g, "\n");
    try {
      this.#body = compile(this.#source);
    } catch (error) {
      if (!(error instanceof SyntaxFault)) throw error;
      const line = this.#lineOf(error.at);
      throw new ChatTemplateError(`chat template: line ${line} cannot be parsed: ${error.message}`, line, {
        cause: error,
      });
    }
  }

  /** @throws {ChatTemplateError} with the line if the template raises an exception, fails or exceeds a limit */
  render(variables: Readonly<Record<string, unknown>>, now: Date): Text {
    const run = { at: 0 };
    try {
      return render(this.#body, variables, now, run);
    } catch (error) {
      const line = this.#lineOf(run.at);
      throw new ChatTemplateError(`chat template: line ${line} ${reasonOf(error)}`, line, { cause: error });
    }
  }

  #lineOf(offset: number): number {
    return this.#source.slice(0, offset).split("\n").length;
  }
}

function reasonOf(error: unknown): string {
  // A long sum nests one level per operand, and the caller may already use most of the stack.
  if (error instanceof RangeError) return "ran into a limit: expected expressions and calls that take less of the stack";
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RaisedException) return `rejected the messages: ${message}`;
  return `${error instanceof LimitError ? "ran into a limit: expected" : "cannot be rendered:"} ${message}`;
}
