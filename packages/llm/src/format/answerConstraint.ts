import { UnsupportedError } from "@centella/core";
import {
  anyTextUntil,
  choice,
  codePoints,
  combine,
  compile,
  fromGbnf,
  fromJsonSchema,
  fromLark,
  fromRegex,
  type Grammar,
  GrammarError,
  type Item,
  type JsonSchemaGrammar,
  type Matcher,
  optional,
  repeat,
  sequence,
  text,
} from "@centella/grammar";
import { opensReasoning, promptEndOf, type ReasoningFormat, type ReasoningTags } from "../chat/reasoning.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { type AnswerFormat, checkFormat } from "./answerFormat.ts";
import { textVocabulary } from "./textVocabulary.ts";

/** What the constraint of an answer depends on. */
export interface ConstraintContext {
  readonly tokenizer: Tokenizer;
  readonly promptIds: readonly number[];
  /** How the reasoning is separated from the answer, if it is. */
  readonly reasoning: ReasoningFormat | undefined;
  /** Text of the message that the answer continues. */
  readonly begun: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Whether a text matches the format as a whole and was not cut short, and its value. */
export interface FormatOutcome {
  readonly complete: boolean;
  /** The parsed JSON of a complete answer, for schemas and "json". */
  readonly value?: unknown;
}

/** Most characters of white space between reasoning and answer. */
const maxSpace = 4;
const whiteSpace = repeat(
  codePoints([
    [0x09, 0x0a],
    [0x0d, 0x0d],
    [0x20, 0x20],
  ]),
  0,
  maxSpace,
);
const space = 0x20;

/** Excludes the tokens with which an answer would not match its format. Follows the text of one generation. */
export class AnswerConstraint {
  readonly #tokenizer: Tokenizer;
  readonly #format: AnswerFormat;
  /** Of the answer alone. */
  readonly #answer: Matcher;
  /** Of the generated text, with the reasoning and tags. */
  #matcher: Matcher;
  /** At a place where a text loses its first space: the matcher of texts that begin with one. */
  #spaced: Matcher | undefined;
  readonly #allowed: Uint32Array;
  readonly #ids: number[] = [];
  /** Keywords of a schema that have no effect. */
  readonly warnings: readonly string[];
  #masked = new Float32Array(0);

  /**
   * @throws {ArgumentError} if the format has another shape; {GrammarError} if it is malformed or cannot be enforced; {UnsupportedError} for
   *   answers in the Harmony format or that continue a message, and if no token ends a text; the signal's reason
   */
  constructor(format: AnswerFormat, { tokenizer, promptIds, reasoning: tags, begun, signal }: ConstraintContext) {
    checkFormat(format);
    if (tokenizer.endOfGenerationIds.length === 0) throw new UnsupportedError("format", "the vocabulary has no token that ends a text");
    if (begun !== undefined) throw new UnsupportedError("format", "the answer continues a message; end the conversation with another role");
    if (tags === "harmony")
      throw new UnsupportedError("format", "the model answers in the channels of the Harmony format; generate without a format");
    const { grammar, warnings } = grammarOf(format, signal);
    const vocabulary = textVocabulary(tokenizer, markupOf(tags));
    const matcher = (of: Grammar): Matcher => compile(of, vocabulary, signal === undefined ? {} : { signal }).matcher();
    const whole = tags === undefined ? grammar : withReasoning(grammar, tags, promptEndOf(tokenizer, promptIds, markupOf(tags)));
    this.#tokenizer = tokenizer;
    this.#format = format;
    this.#answer = matcher(grammar);
    this.#matcher = matcher(whole);
    const last = promptIds.at(-1);
    const losesSpace = tokenizer.addSpacePrefix && (last === undefined || tokenizer.isTextBoundary(last));
    if (losesSpace) this.#spaced = matcher(combine({ whole }, (parts) => sequence([" ", parts.whole])));
    this.#allowed = new Uint32Array(vocabulary.maskWords);
    this.warnings = warnings;
  }

  /**
   * A copy of the logits, minus infinity for the tokens that must not come next. It is overwritten by the next call.
   * @throws {GrammarError} `GRAMMAR_DEAD_END` if no token may come next, `GRAMMAR_BUDGET`
   */
  masked(logits: Float32Array): Float32Array {
    const allowed = this.#mask();
    if (this.#masked.length !== logits.length) this.#masked = new Float32Array(logits.length);
    this.#masked.set(logits);
    for (let id = 0; id < logits.length; id++)
      if (((allowed[id >> 5]! >>> (id & 31)) & 1) === 0) this.#masked[id] = Number.NEGATIVE_INFINITY;
    return this.#masked;
  }

  /** Appends the token that was chosen. @throws {GrammarError} `GRAMMAR_BUDGET` */
  accept(id: number): void {
    if (this.#spaced !== undefined && this.#beginsWithSpace(id)) this.#matcher = this.#spaced;
    this.#spaced = undefined;
    this.#matcher.accept(id);
    this.#ids.push(id);
  }

  /**
   * @param answer the text without the reasoning
   * @param hasEnded whether the model ended the text. A text that was ended otherwise, such as the number 12 that might have become 123, is
   *   complete only if nothing can follow.
   */
  outcome(answer: string, hasEnded: boolean): FormatOutcome {
    const matcher = this.#answer.fork();
    const matches = matcher.acceptBytes(new TextEncoder().encode(answer)) && matcher.isComplete;
    const complete = matches && (hasEnded || !this.#canGoOn(matcher));
    const isJson = this.#format === "json" || "schema" in this.#format;
    return complete && isJson ? { complete, value: JSON.parse(answer) } : { complete };
  }

  #canGoOn(matcher: Matcher): boolean {
    matcher.mask(this.#allowed);
    for (const id of this.#tokenizer.endOfGenerationIds) this.#allowed[id >> 5]! &= ~(1 << (id & 31));
    return this.#allowed.some((word) => word !== 0);
  }

  #mask(): Uint32Array {
    const allowed = this.#allowed;
    let isAlive = this.#matcher.mask(allowed);
    if (this.#spaced !== undefined) {
      // The first text loses its space, so that tokens with a space stand for what follows it.
      const spaced = new Uint32Array(allowed.length);
      this.#spaced.mask(spaced);
      for (let id = 0; id < this.#tokenizer.vocabSize; id++) {
        if (!this.#beginsWithSpace(id)) continue;
        const bit = 1 << (id & 31);
        allowed[id >> 5] = (allowed[id >> 5]! & ~bit) | (spaced[id >> 5]! & bit);
      }
      isAlive = allowed.some((word) => word !== 0);
    }
    if (!isAlive) throw this.#deadEnd();
    return allowed;
  }

  #beginsWithSpace(id: number): boolean {
    return this.#tokenizer.tokenBytes(id)[0] === space;
  }

  #deadEnd(): GrammarError {
    const textSoFar = this.#tokenizer.decode(this.#ids);
    return new GrammarError(
      "GRAMMAR_DEAD_END",
      `format: expected a token of the vocabulary that goes on with the text, got none after ${JSON.stringify(textSoFar.slice(-40))}; use a vocabulary with a token for every byte`,
      { text: textSoFar },
    );
  }
}

function grammarOf(
  format: AnswerFormat,
  signal: AbortSignal | undefined,
): { readonly grammar: Grammar; readonly warnings: readonly string[] } {
  const plain = (grammar: Grammar) => ({ grammar, warnings: [] });
  if (format !== "json" && !("schema" in format)) {
    if ("regex" in format) return plain(fromRegex(format.regex));
    if ("gbnf" in format) return plain(fromGbnf(format.gbnf));
    if ("choice" in format) return plain({ start: choice(format.choice.map(text)), rules: {} });
    return withWarnings(fromLark(format.lark));
  }
  return withWarnings(fromJsonSchema(format === "json" ? true : format.schema, signal === undefined ? {} : { signal }));
}

function withWarnings(grammar: JsonSchemaGrammar): { readonly grammar: Grammar; readonly warnings: readonly string[] } {
  const warnings = grammar.warnings.map(({ keyword, pointer, reason }) => `format: ${keyword} of the schema at "${pointer}": ${reason}`);
  return { grammar, warnings };
}

/** The tags that texts may have as single tokens. */
function markupOf(tags: ReasoningTags | undefined): readonly string[] {
  return [tags?.open, tags?.close, tags?.answer, tags?.answerClose].filter((tag) => tag !== undefined);
}

/** Texts whose answer matches the grammar: after a thought that the prompt opened or the model opens, and within the tags of answers. */
function withReasoning(grammar: Grammar, tags: ReasoningTags, promptEnd: string): Grammar {
  return combine({ grammar }, (parts) => {
    const tagged = (before: Item) => {
      if (tags.answer === undefined) return sequence([before, parts.grammar]);
      const close = tags.answerClose === undefined ? [] : [optional(sequence([whiteSpace, tags.answerClose]))];
      return sequence([before, choice([parts.grammar, sequence([tags.answer, whiteSpace, parts.grammar, ...close])])]);
    };
    const rest = sequence([anyTextUntil(tags.close), tagged(whiteSpace)]);
    return opensReasoning(tags, promptEnd) ? rest : choice([tagged(""), sequence([tags.open, rest])]);
  });
}
