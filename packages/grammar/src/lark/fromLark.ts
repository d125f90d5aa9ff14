import type { Budget } from "../budget.ts";
import { objectOf } from "../checks.ts";
import { and, bytes, choice, codePoints, empty, not, optional, reference, repeat, sequence, text } from "../expression/builders.ts";
import { withPrefix } from "../expression/combine.ts";
import { inlineRegularRules, orderOfUse } from "../expression/inline.ts";
import type { Expression, Grammar, Regular } from "../expression/types.ts";
import type { JsonSchema, SchemaWarning } from "../json/documents.ts";
import { fromJsonSchema, type JsonSchemaOptions } from "../json/fromJsonSchema.ts";
import { regularFromRegex } from "../regex/fromRegex.ts";
import { Cursor } from "../source/cursor.ts";
import { parseLark } from "./parse.ts";
import { regularFromLarkRegex } from "./regex.ts";
import type { Definition, LarkSource, Node } from "./syntax.ts";

export interface LarkOptions {
  /** How the schemas of `%json` are read. */
  json?: Omit<JsonSchemaOptions, "budget">;
  /** Limits of the work. */
  budget?: Budget;
}

/** The grammar of a text, with the keywords of its schemas that have no effect. */
export interface LarkGrammar extends Grammar {
  readonly warnings: readonly SchemaWarning[];
}

/**
 * The grammar that a text in llguidance's variant of Lark's notation describes. `start` is the rule to start with.
 *
 * Supported: rules, terminals with `&` and `~`, `%ignore`, `%import common.…`, `%json`, `%regex`, the attributes `lazy` and `suffix`, and the
 * options `allow_initial_skip` and `ignore_once` of `%llguidance`. Refused: token references, priorities, templates, parametric rules, other
 * grammars, the attributes `capture`, `stop`, `stop_capture`, `max_tokens` and `temperature`, and the remaining directives and options.
 *
 * All ways to split a text into lexemes count: a terminal need not match as much as it can. Aliases (`-> name`) and the prefixes `?` and `!`
 * concern parse trees and change nothing.
 *
 * @throws GrammarError with `line` and `column`, and for schemas also `pointer`. Codes: `GRAMMAR_SYNTAX`; `GRAMMAR_REFERENCE` for a name without a definition;
 * `GRAMMAR_UNSUPPORTED` with `keyword`; `GRAMMAR_BUDGET`, also for more than 250 groups within one another.
 */
export function fromLark(source: string, options: LarkOptions = {}): LarkGrammar {
  const { budget, json = {} } = objectOf("fromLark", "options { json, budget }", options);
  objectOf("fromLark", "json to be options of schemas", json);
  const cursor = new Cursor("fromLark", source, budget);
  const compiler = new LarkCompiler(cursor, options);
  const { start, rules } = inlineRegularRules(compiler.compile(), cursor.meter);
  return { start, rules: { ...rules, ...Object.fromEntries(compiler.schemaRules) }, warnings: compiler.warnings };
}

const anyBytes = repeat(bytes([[0, 255]]), 0, Infinity);

class LarkCompiler {
  readonly #cursor: Cursor;
  readonly #source: LarkSource;
  readonly #terminals = new Map<string, Regular>();
  /** What may follow each lexeme. */
  readonly #skipped: Regular;
  readonly #options: LarkOptions;
  /** Rules of the schemas. They stay apart: where a schema's rule is a rule of its own, its masks are shared. */
  readonly schemaRules: [name: string, body: Expression][] = [];
  readonly warnings: SchemaWarning[] = [];
  #schemas = 0;

  constructor(cursor: Cursor, options: LarkOptions) {
    this.#cursor = cursor;
    this.#options = options;
    this.#source = parseLark(cursor);
    this.#compileTerminals();
    const ignored = choice(this.#source.ignored.map((node) => this.#terminal(node)));
    this.#skipped = this.#source.ignored.length === 0 ? empty : repeat(ignored, 0, this.#source.options.ignore_once ? 1 : Infinity);
  }

  compile(): Grammar {
    const { rules, options } = this.#source;
    if (!rules.has("start")) throw this.#cursor.undefinedRule("start", 0);
    const bodies = [...rules].map(([name, definition]) => [name, this.#ruleBody(definition)] as const);
    return {
      start: sequence([options.allow_initial_skip ? this.#skipped : empty, reference("start")]),
      rules: Object.fromEntries(bodies),
    };
  }

  #compileTerminals(): void {
    const definitions = this.#source.terminals;
    const uses = new Map([...definitions].map(([name, { body }]) => [name, this.#namesIn(body)]));
    for (const name of orderOfUse(uses)) this.#terminals.set(name, this.#terminal((definitions.get(name) as Definition).body));
    for (const [name, { at }] of definitions)
      if (!this.#terminals.has(name))
        throw this.#cursor.failure("GRAMMAR_SYNTAX", `expected a terminal that does not use itself, got ${name}`, at);
  }

  /** Names of the terminals that a terminal uses. */
  #namesIn(node: Node, names: Set<string> = new Set()): Set<string> {
    if (node.kind === "name") {
      if (!this.#source.terminals.has(node.name)) throw this.#cursor.undefinedRule(`the terminal ${node.name}`, node.at);
      names.add(node.name);
    } else if ("items" in node) for (const item of node.items) this.#namesIn(item, names);
    else if ("item" in node) this.#namesIn(node.item, names);
    return names;
  }

  #ruleBody({ body, isLazy, suffix, at }: Definition): Expression {
    if (!isLazy) return this.#rule(body);
    const whole = sequence([this.#terminal(body), suffix === undefined ? empty : this.#terminal(suffix)]);
    if (suffix !== undefined && suffix.kind === "text" && suffix.text === "")
      throw this.#cursor.failure("GRAMMAR_SYNTAX", "expected a suffix that is not empty, got an empty one", at);
    return this.#lexeme(shortest(whole));
  }

  #lexeme(terminal: Regular): Regular {
    return sequence([terminal, this.#skipped]);
  }

  #rule(node: Node): Expression {
    switch (node.kind) {
      case "sequence":
        return sequence(node.items.map((item) => this.#rule(item)));
      case "choice":
        return choice(node.items.map((item) => this.#rule(item)));
      case "repeat":
        return repeat(this.#rule(node.item), node.min, node.max);
      case "and":
        throw this.#cursor.unsupported("& in a rule", node.at, "write it in a terminal, whose name is in upper case");
      case "name":
        if (this.#source.rules.has(node.name)) return reference(node.name);
        if (!this.#terminals.has(node.name)) throw this.#cursor.undefinedRule(node.name, node.at);
        return this.#lexeme(this.#terminals.get(node.name) as Regular);
      case "json":
        return sequence([this.#schema(node.schema, node.at), this.#skipped]);
      case "text":
        return node.text === "" ? empty : this.#lexeme(this.#terminal(node));
      default:
        return this.#lexeme(this.#terminal(node));
    }
  }

  #schema(schema: unknown, at: number): Expression {
    const { json, budget } = this.#options;
    const grammar = this.#cursor.within(at, "schema", () => fromJsonSchema(schema as JsonSchema, { ...json, ...(budget && { budget }) }));
    this.#schemas++;
    const { start, rules } = withPrefix(grammar, `%json ${this.#schemas}/`);
    for (const rule of Object.entries(rules)) this.schemaRules.push(rule);
    for (const warning of grammar.warnings) this.warnings.push(warning);
    return start;
  }

  #terminal(node: Node): Regular {
    this.#cursor.meter.work(1);
    switch (node.kind) {
      case "text":
        return node.ignoresCase ? ignoringCase(node.text) : text(node.text);
      case "range":
        return codePoints([[node.first, node.last]]);
      case "regex":
        return this.#cursor.within(node.at, "regular expression", () => regularFromLarkRegex(node.source, node.flags, this.#cursor.meter));
      case "substring":
        return substring(node.chunks);
      case "json":
        throw this.#cursor.unsupported("%json in a terminal", node.at, "use it in a rule, whose name is in lower case");
      case "name": {
        const terminal = this.#terminals.get(node.name);
        if (terminal === undefined) throw this.#cursor.undefinedRule(`the terminal ${node.name}`, node.at);
        return terminal;
      }
      case "sequence":
        return sequence(node.items.map((item) => this.#terminal(item)));
      case "choice":
        return choice(node.items.map((item) => this.#terminal(item)));
      case "and":
        return and(node.items.map((item) => this.#terminal(item)));
      case "not":
        return not(this.#terminal(node.item));
      case "repeat":
        return repeat(this.#terminal(node.item), node.min, node.max);
    }
  }
}

/** The texts that match of which no beginning matches. */
function shortest(terminal: Regular): Regular {
  return and([terminal, not(sequence([terminal, bytes([[0, 255]]), anyBytes]))]);
}

function ignoringCase(value: string): Regular {
  return regularFromRegex(value.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&"), { flags: "iu" });
}

/** Some of the chunks, one after the other, or the empty text. */
function substring(chunks: readonly string[]): Regular {
  let rest: Regular = empty;
  const starts: Regular[] = [empty];
  for (const chunk of chunks.toReversed()) {
    rest = optional(sequence([text(chunk), rest]));
    starts.push(rest);
  }
  return choice(starts);
}
