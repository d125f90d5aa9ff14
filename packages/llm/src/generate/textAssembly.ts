import type { PartialJson } from "@centella/grammar";
import type { Answer } from "../chat/conversation.ts";
import { promptEndOf, type Separation } from "../chat/reasoning.ts";
import type { ChosenLogprob } from "../sampling/logprobs.ts";
import { TextStream } from "../tokenizer/textStream.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { CallCollector, PlainCallPart } from "../tools/callCollector.ts";
import type { ToolCall } from "../tools/tools.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import type { Commentary, GeneratedText, ToolCallPart } from "./generationParts.ts";
import type { FittedPrompt } from "./overflow.ts";
import { type StopResult, StopStrings } from "./stopStrings.ts";
import type { TextSpan, TextSplitter } from "./textSplitter.ts";

/** Inputs of a {@link TextAssembly}. */
export interface AssemblyContext {
  readonly tokenizer: Tokenizer;
  readonly prompt: FittedPrompt;
  readonly options: ResolvedGeneration;
  readonly reasoning: Separation | undefined;
  /** Finds calls of tools in the answer. */
  readonly calls: CallCollector | undefined;
  /** Reads the value of the beginning of an answer, if parts report it. */
  readonly partial: PartialJson | undefined;
  /** Text of the message that the answer continues. */
  readonly begun: string | undefined;
}

/** Assembles the text of a generation from tokens, detects stop strings and separates reasoning from the answer. */
export class TextAssembly {
  /** The generated answer, up to the last part that was read. Excludes the message that the answer continues. */
  text = "";
  reasoning = "";
  /** The part of the answer that the prompt already contains. */
  readonly #begun: { text: string; reasoning: string };
  readonly commentary: Commentary[] = [];
  stopped: string | undefined;
  readonly logprobs: ChosenLogprob[] = [];
  readonly #stops: StopStrings;
  readonly #stream: TextStream;
  readonly #splitter: TextSplitter | undefined;
  readonly #calls: CallCollector | undefined;
  readonly #partial: AssemblyContext["partial"];
  readonly #history: readonly number[];
  readonly #promptTokens: number;
  readonly #reportsLogprobs: boolean;
  /** Length of the history up to which tokens belong to parts that were yielded. */
  #reported: number;

  constructor({ tokenizer, options, reasoning, calls, partial, prompt, begun }: AssemblyContext, history: readonly number[]) {
    this.#stops = new StopStrings(options.stop);
    this.#calls = calls;
    this.#partial = partial;
    const markup = reasoning?.markup ?? [];
    const shown = [...markup, ...(calls?.markup ?? [])];
    this.#stream = new TextStream(tokenizer, { after: prompt.ids.at(-1), ...(shown.length > 0 && { shown: markupIds(tokenizer, shown) }) });
    if (reasoning !== undefined) {
      const promptEnd = begun === undefined ? promptEndOf(tokenizer, prompt.ids, markup) : "";
      this.#splitter = reasoning.createSplitter(promptEnd);
    }
    this.#begun = { text: "", reasoning: "" };
    for (const { type, text } of this.#split(begun ?? "")) this.#begun[type === "reasoning" ? type : "text"] += text;
    this.#history = history;
    this.#promptTokens = prompt.ids.length;
    this.#reported = prompt.ids.length;
    this.#reportsLogprobs = options.logprobs !== undefined;
  }

  /** The whole answer, up to the last part that was read. */
  get answer(): Answer {
    const { toolCalls } = this;
    const answer = { text: this.#begun.text + this.text, reasoning: this.#begun.reasoning + this.reasoning };
    return { ...answer, ...(toolCalls.length > 0 && { toolCalls }) };
  }

  /** Finished calls of tools. */
  get toolCalls(): readonly ToolCall[] {
    return this.#calls?.finished ?? [];
  }

  *push(id: number): Iterable<GeneratedText | ToolCallPart> {
    yield* this.#take(this.#stops.push(this.#stream.push(id)));
  }

  /** Releases text that was held back, unless a stop string ended the text. */
  *flush(): Iterable<GeneratedText | ToolCallPart> {
    if (this.stopped === undefined) yield* this.#take(this.#stops.push(this.#stream.flush()));
    const rest = this.stopped === undefined ? this.#stops.flush() : "";
    yield* this.#parts(this.#splitter === undefined ? spansOf(rest) : [...this.#splitter.push(rest), ...this.#splitter.flush()]);
    if (this.#calls !== undefined) yield* this.#emit(this.#calls.flush());
  }

  *#take({ text, stopped }: StopResult): Iterable<GeneratedText | ToolCallPart> {
    this.stopped = stopped;
    yield* this.#parts(this.#split(text));
  }

  #split(text: string): readonly TextSpan[] {
    return this.#splitter?.push(text) ?? spansOf(text);
  }

  #parts(spans: readonly TextSpan[]): Iterable<GeneratedText | ToolCallPart> {
    return this.#emit(this.#calls?.push(spans) ?? spans);
  }

  *#emit(spans: readonly (TextSpan | PlainCallPart)[]): Iterable<GeneratedText | ToolCallPart> {
    for (const span of spans) {
      if (span.type === "toolCall") {
        yield { ...span, ...this.#tokens() };
        continue;
      }
      const { type, text, recipient, isFirst } = span;
      const to = recipient === undefined ? {} : { recipient };
      if (type !== "commentary") this[type] += text;
      else {
        const begun = isFirst ? undefined : this.commentary.pop();
        this.commentary.push({ text: (begun?.text ?? "") + text, ...to });
      }
      const partial = type === "text" ? this.#partial?.push(text).value : undefined;
      yield { type, text, ...to, ...this.#tokens(), ...(partial !== undefined && { partial }) };
    }
  }

  /** Tokens since the previous part. */
  #tokens(): Pick<GeneratedText, "ids" | "logprobs"> {
    const from = this.#reported;
    this.#reported = this.#history.length;
    const logprobs = this.#reportsLogprobs && {
      logprobs: this.logprobs.slice(from - this.#promptTokens, this.#reported - this.#promptTokens),
    };
    return { ids: this.#history.slice(from), ...logprobs };
  }
}

function spansOf(text: string): readonly TextSpan[] {
  return text === "" ? [] : [{ type: "text", text }];
}

/** Ids of the tokens that markup consists of. The splitter must see their text. */
function markupIds(tokenizer: Tokenizer, markup: readonly string[]): ReadonlySet<number> {
  return new Set(markup.flatMap((tag) => [...tokenizer.encode(tag, { addSpecial: false, parseSpecial: true })]));
}
