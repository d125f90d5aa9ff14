import { ArgumentError, UnsupportedError } from "@centella/core";
import { combine, compile, type Grammar, GrammarError, type Matcher, sequence } from "@centella/grammar";
import { describe } from "@centella/quant/checks";
import { promptEndOf, type ReasoningFormat } from "../chat/reasoning.ts";
import type { Drafter } from "../generate/drafter.ts";
import { exclude } from "../sampling/candidates.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { TurnTools } from "../tools/turnTools.ts";
import { type AnswerFormat, checkFormat } from "./answerFormat.ts";
import { answerGrammar } from "./answerGrammar.ts";
import { forcedTokens, spelling } from "./forcedTokens.ts";
import { type DraftSources, FormatDrafts, type NextTokens } from "./formatDrafts.ts";
import { Markup } from "./markup.ts";
import { textVocabulary } from "./textVocabulary.ts";
import { markupOf, withReasoning } from "./withReasoning.ts";

// Re-exported so that answers with values of their beginnings load a single file.
export { PartialJson } from "@centella/grammar";

/** What the constraint of an answer depends on. */
export interface ConstraintContext {
  readonly tokenizer: Tokenizer;
  readonly promptIds: readonly number[];
  /** How the reasoning is separated from the answer, if it is. */
  readonly reasoning: ReasoningFormat | undefined;
  /** Text of the message that the answer continues. */
  readonly begun: string | undefined;
  /** Tools that the answer may call. */
  readonly tools?: TurnTools | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Whether a text matches the format as a whole and was not cut short, and its value. */
export interface FormatOutcome {
  readonly complete: boolean;
  /** The parsed JSON of a complete answer, for schemas and "json". */
  readonly value?: unknown;
}

/** The place in a text after a token that may come next. */
interface NextPlace {
  /** Undefined before a token was asked about. */
  readonly id: number | undefined;
  readonly matcher: Matcher;
  /** Bits of the tokens that may follow, if they are known. */
  readonly allowed: Uint32Array;
  isKnown: boolean;
}

const space = 0x20;

/** Excludes the tokens with which an answer would not match its format. Follows the text of one generation. */
export class AnswerConstraint implements NextTokens {
  readonly #tokenizer: Tokenizer;
  readonly #format: AnswerFormat | undefined;
  /** Matcher of the answer alone, if it has a format. */
  readonly #answer: Matcher | undefined;
  /** Matcher of the generated text, with the reasoning and tags. */
  #matcher: Matcher;
  /** At a place where a text loses its first space: the matcher of texts that begin with one. */
  #spaced: Matcher | undefined;
  /** Text of the message that the answer continues. */
  readonly #begun: string;
  /** The mask of the text so far, once it is known. */
  #allowed: Uint32Array;
  #isKnown = false;
  /** What follows the token that was asked about last. */
  #next: NextPlace;
  /** Space for other masks. */
  readonly #other: Uint32Array;
  readonly #ids: number[] = [];
  /** Keywords of a schema that have no effect. */
  readonly warnings: readonly string[];
  #masked = new Float32Array(0);

  /**
   * @throws {ArgumentError} if the format has another shape, or if the message that the answer continues does not begin like a text of the
   *   format; {GrammarError} if it is malformed or cannot be enforced; {UnsupportedError} if no token ends a text, for tools whose arguments
   *   cannot be enforced, and for messages to continue that have thoughts or tools; the signal's reason
   */
  constructor(format: AnswerFormat | undefined, { tokenizer, promptIds, reasoning, begun, tools, signal }: ConstraintContext) {
    const what = format === undefined ? "tools" : "format";
    if (format !== undefined) checkFormat(format);
    if (tokenizer.endOfGenerationIds.length === 0) throw new UnsupportedError(what, "the vocabulary has no token that ends a text");
    const hasThoughts = reasoning === "harmony" || (reasoning !== undefined && markupOf(reasoning).some((tag) => begun?.includes(tag)));
    if (begun !== undefined && (tools !== undefined || hasThoughts))
      throw new UnsupportedError(
        what,
        "the answer continues a message, which only answers without tools and reasoning can; end the conversation with another role",
      );
    const markup = new Markup(tokenizer);
    const answer = format && answerGrammar(format, signal);
    const turn = tools?.grammar(answer?.grammar, markup, signal) ?? (answer as NonNullable<typeof answer>);
    const promptEnd = promptEndOf(tokenizer, promptIds, markupOf(reasoning));
    // A message that has begun has no thought before it.
    const thoughts = begun === undefined ? reasoning : undefined;
    const whole = withReasoning(turn.grammar, thoughts, { promptEnd, markup, isHarmonyWhole: tools?.format.name === "harmony" });
    const vocabulary = textVocabulary(tokenizer, markup.controlIds);
    const matcher = (of: Grammar): Matcher => compile(of, vocabulary, signal === undefined ? {} : { signal }).matcher();
    this.#tokenizer = tokenizer;
    this.#format = format;
    this.#answer = answer && matcher(answer.grammar);
    this.#matcher = matcher(whole);
    const opened = tools?.format.opened;
    if (opened !== undefined) this.#matcher.acceptBytes(new TextEncoder().encode(opened));
    this.#begun = begun ?? "";
    if (!this.#matcher.acceptBytes(new TextEncoder().encode(this.#begun)))
      throw new ArgumentError("format", "a message to continue that begins like a text of the format", describe(begun));
    const last = promptIds.at(-1);
    const losesSpace = tokenizer.addSpacePrefix && (last === undefined || tokenizer.isTextBoundary(last));
    if (losesSpace && opened === undefined && this.#begun === "")
      this.#spaced = matcher(combine({ whole }, (parts) => sequence([" ", parts.whole])));
    this.#allowed = new Uint32Array(vocabulary.maskWords);
    this.#other = new Uint32Array(vocabulary.maskWords);
    this.#next = { id: undefined, matcher: this.#matcher, allowed: new Uint32Array(vocabulary.maskWords), isKnown: false };
    this.warnings = [...(answer?.warnings ?? []), ...(tools === undefined ? [] : turn.warnings)];
  }

  /**
   * A copy of the logits, minus infinity for the tokens that must not come next. It is overwritten by the next call.
   * @throws {GrammarError} `GRAMMAR_DEAD_END` if no token may come next, `GRAMMAR_BUDGET`
   */
  masked(logits: Float32Array): Float32Array {
    const allowed = this.mask();
    if (this.#masked.length !== logits.length) this.#masked = new Float32Array(logits.length);
    this.#masked.set(logits);
    exclude(this.#masked, allowed);
    return this.#masked;
  }

  /** Appends the token that was chosen. @throws {GrammarError} `GRAMMAR_BUDGET` */
  accept(id: number): void {
    const { matcher, allowed, isKnown } = this.#after(id);
    this.#next = { id: undefined, matcher, allowed: this.#allowed, isKnown: false };
    this.#spaced = undefined;
    this.#matcher = matcher;
    this.#allowed = allowed;
    this.#isKnown = isKnown;
    this.#ids.push(id);
  }

  /** The place after the token `id`, if it comes next. */
  #after(id: number): NextPlace {
    if (this.#next.id === id) return this.#next;
    const matcher = (this.#spaced !== undefined && this.#beginsWithSpace(id) ? this.#spaced : this.#matcher).fork();
    matcher.accept(id);
    this.#next = { id, matcher, allowed: this.#next.allowed, isKnown: false };
    return this.#next;
  }

  /**
   * @param answer the text without the reasoning, after that of the message that it continues
   * @param hasEnded whether the model ended the text. A text that was ended otherwise, such as the number 12 that might have become 123, is
   *   complete only if nothing can follow.
   */
  outcome(answer: string, hasEnded: boolean): FormatOutcome | undefined {
    if (this.#format === undefined || this.#answer === undefined) return undefined;
    const matcher = this.#answer.fork();
    const text = this.#begun + answer;
    const matches = matcher.acceptBytes(new TextEncoder().encode(text)) && matcher.isComplete;
    const complete = matches && (hasEnded || !this.#canGoOn(matcher));
    const isJson = this.#format === "json" || "schema" in this.#format;
    return complete && isJson ? { complete, value: JSON.parse(text) } : { complete };
  }

  #canGoOn(matcher: Matcher): boolean {
    matcher.mask(this.#other);
    for (const id of this.#tokenizer.endOfGenerationIds) this.#other[id >> 5]! &= ~(1 << (id & 31));
    return this.#other.some((word) => word !== 0);
  }

  /**
   * Bits of the tokens that may come next. They are valid until another token is accepted.
   * @throws {GrammarError} as {@link masked}
   */
  mask(): Uint32Array {
    const allowed = this.#allowed;
    if (this.#isKnown) return allowed;
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
    this.#isKnown = true;
    return allowed;
  }

  /**
   * Bits of the tokens that may follow the text and then the token `id`; undefined if none may. They are valid until another token than `id`
   * is asked about or accepted. @throws {GrammarError} `GRAMMAR_BUDGET`
   */
  maskAfterNext(id: number): Uint32Array | undefined {
    const next = this.#after(id);
    next.isKnown ||= next.matcher.mask(next.allowed);
    return next.isKnown ? next.allowed : undefined;
  }

  /** The masks of the text so far, and of the text with each further token of a draft that the format allows. @throws as {@link mask} */
  masks(draft: readonly number[]): readonly Uint32Array[] {
    const masks = [this.mask()];
    const matcher = this.#matcher.fork();
    for (const id of draft) {
      matcher.accept(id);
      const mask = new Uint32Array(this.#allowed.length);
      matcher.mask(mask);
      masks.push(mask);
    }
    return masks;
  }

  /** Bits of the tokens that may follow the text and then a draft; undefined if no token may. They are overwritten by the next call. */
  maskAfter(draft: readonly number[]): Uint32Array | undefined {
    const matcher = this.#matcher.fork();
    return draft.every((id) => matcher.accept(id)) && matcher.mask(this.#other) ? this.#other : undefined;
  }

  forced(): Uint8Array {
    return this.#spaced === undefined ? this.#matcher.forced() : new Uint8Array(0);
  }

  isForcedAfter(id: number): boolean {
    return this.#after(id).matcher.forced().length > 0;
  }

  cut(bytes: Uint8Array, last: number): readonly number[] {
    return this.allowed(forcedTokens(this.#tokenizer, bytes, last));
  }

  spelling(ids: readonly number[], bytes: Uint8Array): readonly number[] {
    return this.allowed(spelling(this.#tokenizer, ids, bytes));
  }

  allowed(ids: readonly number[]): readonly number[] {
    const matcher = this.#matcher.fork();
    const end = ids.findIndex((id) => !matcher.accept(id));
    return end < 0 ? ids : ids.slice(0, end);
  }

  certain(room: number): readonly number[] {
    const ids: number[] = [];
    const matcher = this.#matcher.fork();
    while (ids.length < room) {
      matcher.mask(this.#other);
      const id = soleBit(this.#other);
      if (id === undefined || this.#tokenizer.isEndOfGeneration(id)) break;
      matcher.accept(id);
      ids.push(id);
    }
    return ids;
  }

  /** Drafts the tokens that the format forces, and those of another drafter that it allows. */
  drafter(sources: DraftSources): Drafter {
    return new FormatDrafts(this, sources);
  }

  #beginsWithSpace(id: number): boolean {
    return this.#tokenizer.tokenBytes(id)[0] === space;
  }

  #deadEnd(): GrammarError {
    const textSoFar = this.#begun + this.#tokenizer.decode(this.#ids);
    return new GrammarError(
      "GRAMMAR_DEAD_END",
      `format: expected a token of the vocabulary that goes on with the text, got none after ${JSON.stringify(textSoFar.slice(-40))}; use a vocabulary with a token for every byte`,
      { text: textSoFar },
    );
  }
}

/** The only bit that is set; undefined if none is, or several are. */
function soleBit(mask: Uint32Array): number | undefined {
  let sole: number | undefined;
  for (let i = 0; i < mask.length; i++) {
    const word = mask[i]!;
    if (word === 0) continue;
    if (sole !== undefined || (word & (word - 1)) !== 0) return undefined;
    sole = 32 * i + 31 - Math.clz32(word);
  }
  return sole;
}
