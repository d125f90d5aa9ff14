import { ArgumentError } from "@centella/core";
import {
  abortSignal,
  anything,
  boolean,
  checkKeys,
  checkOptions,
  checkValue,
  describe,
  either,
  isRecord,
  type Kinds,
  listOf,
  nonEmptyString,
  object,
  oneOf,
  string,
  whole,
} from "@centella/quant/checks";
import type { ChatOptions } from "../chat/chatOptions.ts";
import { chatKinds } from "../chat/chatOptions.ts";
import type { ReasoningFormat, ReasoningTags } from "../chat/reasoning.ts";
import type { ReasoningControl } from "../chat/reasoningControl.ts";
import type { AnswerFormat } from "../format/answerFormat.ts";
import { type ResolvedSampling, resolveSampling, type SamplingOptions, samplingOptionNames } from "../sampling/options.ts";
import type { ToolFormatName } from "../tools/formats/namedFormats.ts";
import type { ToolFormat } from "../tools/formats/toolFormat.ts";
import type { ToolOptions } from "../tools/tools.ts";
import type { DiffusionOptions } from "./diffusionOptions.ts";
import type { OverflowPolicy, ResolvedOverflow } from "./overflow.ts";

/** How reasoning is separated from the answer, and how long the model reasons. */
export interface ReasoningOptions extends ReasoningControl {
  /** See {@link GenerateOptions.reasoning}. Default: "auto". */
  readonly format?: "auto" | ReasoningFormat | undefined;
}

/** How a text is generated: the sampling options, the options for tools and the options below. */
export interface GenerateOptions<Format extends AnswerFormat = AnswerFormat> extends Omit<SamplingOptions, "dryBreakers">, ToolOptions {
  /** Maximum number of tokens to generate, at least 1. Default: until the text ends or the context is full. */
  readonly maxTokens?: number | undefined;
  /** Texts that interrupt a repetition for DRY: up to 64, each of up to 40 characters. Default: line feed, colon, double quote, asterisk. */
  readonly dryBreakers?: readonly string[] | undefined;
  /** Report the log probability of each generated token and of this many most likely alternatives. Default: none. */
  readonly logprobs?: number | undefined;
  /** Strings that end the text; they are not part of it. */
  readonly stop?: readonly string[] | undefined;
  /** Go on after tokens that end a text, for measurements. Default false. */
  readonly ignoreEos?: boolean | undefined;
  /** Ends the generation at once, even while it waits in the queue; see `onAbort`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Decides what happens to the turn when it is aborted or its loop is left early.
   *
   * "discard" (the default): an abort rejects with the signal's reason, and the session is as it was before the turn.
   *
   * "keep": the user message and the answer so far stay in the session. An abort ends the text with a finish of reason "aborted" instead of
   * an error; a loop that is left early ends without a finish. If there is no answer yet (reasoning does not count), only the user message
   * stays, and the next user message is appended to it. A turn that still waits for an earlier turn of its session has not begun: it rejects,
   * and nothing is kept.
   */
  readonly onAbort?: "discard" | "keep" | undefined;
  /** Continue a string prompt as plain text instead of answering it as a turn of the chat. Default: true if the model has no chat template. */
  readonly raw?: boolean | undefined;
  /** What happens if the context is too small. Default: prompts are refused, texts end. */
  readonly overflow?: OverflowPolicy | undefined;
  /**
   * Draft up to this many tokens at a time from the text so far and verify them in one run. Gives the same tokens in fewer runs if the text
   * repeats its prompt, as in summaries and edits. 0 (the default) turns drafting off.
   */
  readonly promptLookup?: number | undefined;
  /**
   * Maximum number of tokens that the model's draft model drafts at a time. 0 turns it off. Default: as the model was loaded. Where prompt
   * lookup finds a draft, the draft model is not asked.
   */
  readonly draftTokens?: number | undefined;
  /**
   * Draft the tokens of texts that the format or a call of a tool forces, such as the names of properties, and verify them in one run. Gives
   * the same tokens in fewer runs. Default true.
   */
  readonly jumpForward?: boolean | undefined;
  /**
   * Separate the model's reasoning from its answer: by the tags that the chat template names ("auto", the default, for turns of a chat), by
   * these tags, by the channels of the Harmony format ("harmony"), or not at all (false). An object without tags says how long the model
   * reasons: `{ budget: 200 }`, `{ effort: "low" }`, `{ off: true }`.
   */
  readonly reasoning?: "auto" | false | ReasoningFormat | ReasoningOptions | undefined;
  /** How a model that fills in masked tokens generates. Its values are checked while iterating. */
  readonly diffusion?: DiffusionOptions | undefined;
  /** Report the progress of the prompt in parts of type "prefill". Default false. */
  readonly progress?: boolean | undefined;
  /** Values for the chat template besides the messages. */
  readonly chat?: ChatOptions | undefined;
  /**
   * What the answer must match as a whole. Tokens with which it would not match are excluded before any other sampling step; `logprobs` are
   * those of the model. The text ends only where it matches, or is cut short with `complete: false`. Reasoning before the answer is free.
   * The format is checked after the call, before anything is computed.
   */
  readonly format?: Format | undefined;
  /** Report the value of the answer so far in each part, for the formats `{ schema }` and "json". Default false. */
  readonly partial?: boolean | undefined;
  /** How the model writes calls of tools, in place of what `model.toolFormat` finds. */
  readonly toolFormat?: ToolFormatName | ToolFormat | undefined;
}

/** Options of `session.run`: those of each of its answers, and their number. */
export interface RunOptions<Format extends AnswerFormat = AnswerFormat> extends GenerateOptions<Format> {
  /** Most answers of the model, at least 1. Default: 8. */
  readonly maxSteps?: number | undefined;
}

/** Checked options. */
export interface ResolvedGeneration {
  readonly sampling: ResolvedSampling;
  readonly dryBreakers: readonly string[];
  readonly logprobs: number | undefined;
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly ignoreEos: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: "discard" | "keep";
  readonly raw: boolean | undefined;
  readonly overflow: OverflowPolicy;
  readonly promptLookup: number;
  readonly draftTokens: number | undefined;
  readonly jumpForward: boolean;
  readonly reasoning: "auto" | false | ReasoningFormat;
  /** How long the model reasons. */
  readonly control: ReasoningControl | undefined;
  readonly diffusion: DiffusionOptions | undefined;
  readonly progress: boolean;
  readonly chat: ChatOptions;
  readonly format: AnswerFormat | undefined;
  readonly partial: boolean;
  /** Options for tools, if any were given; `toolUse` checks them. */
  readonly tools: ToolOptions | undefined;
  readonly toolFormat: ToolFormatName | ToolFormat | undefined;
}

/** The options of `session.run` that each of its answers has. @throws {ArgumentError} if `maxSteps` is no whole number from 1 */
export function generateOptionsOf({ maxSteps, ...options }: RunOptions): GenerateOptions {
  if (maxSteps !== undefined) checkValue("maxSteps", maxSteps, whole(1));
  return options;
}

/** Default breakers of DRY; llama.cpp has the same ones. */
const defaultDryBreakers: readonly string[] = ["\n", ":", '"', "*"];

/** llama.cpp truncates breakers to this length. */
const maxBreakerLength = 40;
const maxBreakers = 64;

const ownKinds: Kinds<Omit<GenerateOptions, keyof SamplingOptions>> = {
  maxTokens: whole(1),
  ignoreEos: boolean,
  logprobs: whole(0),
  stop: listOf("strings of at least one character", nonEmptyString),
  signal: abortSignal,
  onAbort: oneOf("discard", "keep"),
  raw: boolean,
  overflow: object,
  promptLookup: whole(0),
  draftTokens: whole(0),
  jumpForward: boolean,
  reasoning: anything,
  diffusion: object,
  progress: boolean,
  chat: object,
  format: anything,
  partial: boolean,
  tools: anything,
  toolChoice: anything,
  parallelToolCalls: boolean,
  strictTools: boolean,
  toolFormat: either(string, object),
};
const kinds = { ...Object.fromEntries(samplingOptionNames.map((name) => [name, anything])), ...ownKinds } as Kinds<GenerateOptions>;

/** Every option of `session.generate`. */
export const generateOptionNames = Object.keys(kinds) as readonly (keyof GenerateOptions)[];

const overflowKinds: Kinds<OverflowPolicy> = {
  prompt: oneOf("error", "dropTurns", "truncateMiddle"),
  generation: oneOf("stop", "error", "shift"),
  keep: whole(0),
  room: whole(1),
};
/** Names of options of the chat template. `tools` are also an option of their own. */
const chatNames = Object.keys(chatKinds).filter((name) => name !== "tools");

/**
 * Checks options and fills in the defaults. `sampling` holds the model's own sampling defaults.
 * @throws {ArgumentError} for an unknown option or a value outside its range
 */
export function resolveGeneration(options: GenerateOptions, sampling: SamplingOptions = {}): ResolvedGeneration {
  const misplaced = isRecord(options) ? chatNames.find((name) => Object.hasOwn(options, name)) : undefined;
  if (misplaced !== undefined) throw new ArgumentError("generate", "options of generate", misplaced, `pass chat: { ${misplaced} }`);
  checkOptions("generate", options, kinds);
  const {
    maxTokens = Number.MAX_SAFE_INTEGER,
    stop = [],
    ignoreEos = false,
    signal,
    raw,
    chat = {},
    logprobs,
    dryBreakers,
    format,
    diffusion,
  } = options;
  checkDryBreakers(dryBreakers);
  const { onAbort = "discard", overflow = {}, promptLookup = 0, jumpForward = true, reasoning = "auto", progress = false } = options;
  checkOptions("generate.chat", chat, chatKinds);
  checkOptions("generate.overflow", overflow, overflowKinds);
  const { separation, control } = reasoningOf(reasoning);
  const { tools, toolChoice, parallelToolCalls, strictTools, toolFormat } = options;
  const isToolless = tools === undefined && toolChoice === undefined;
  return {
    sampling: resolveSampling(pickSampling(options), sampling),
    dryBreakers: dryBreakers ?? defaultDryBreakers,
    logprobs,
    maxTokens,
    ignoreEos,
    stop,
    signal,
    onAbort,
    raw,
    overflow,
    promptLookup,
    draftTokens: options.draftTokens,
    jumpForward,
    reasoning: separation,
    control,
    diffusion,
    progress,
    chat,
    format,
    partial: isPartial(options),
    tools: isToolless ? undefined : { tools, toolChoice, parallelToolCalls, strictTools },
    toolFormat,
  };
}

/** @throws {ArgumentError} for a format without values */
function isPartial({ partial = false, format }: GenerateOptions): boolean {
  if (partial && format !== "json" && !(isRecord(format) && "schema" in format))
    throw new ArgumentError("partial", 'the format "json" or { schema }', describe(format));
  return partial;
}

function checkDryBreakers(breakers: GenerateOptions["dryBreakers"]): void {
  if (breakers === undefined) return;
  const isBreaker = (text: unknown): boolean => typeof text === "string" && text !== "" && text.length <= maxBreakerLength;
  if (Array.isArray(breakers) && breakers.length <= maxBreakers && breakers.every(isBreaker)) return;
  throw new ArgumentError(
    "dryBreakers",
    `a list of at most ${maxBreakers} strings, each of 1 to ${maxBreakerLength} characters`,
    describe(breakers),
  );
}

function pickSampling(options: GenerateOptions): SamplingOptions {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== "dryBreakers" && !Object.hasOwn(ownKinds, name)));
}

const controlKinds: Kinds<ReasoningOptions> = { budget: whole(0), effort: nonEmptyString, off: boolean, format: anything };

/** Separates options on how long the model reasons from those on how its reasoning is found. */
function reasoningOf(reasoning: NonNullable<GenerateOptions["reasoning"]>): {
  readonly separation: ResolvedGeneration["reasoning"];
  readonly control: ReasoningControl | undefined;
} {
  const isControl = isRecord(reasoning) && !("open" in reasoning || "close" in reasoning);
  if (!isControl) {
    const separation = reasoning as ResolvedGeneration["reasoning"];
    checkSeparation(separation);
    return { separation, control: undefined };
  }
  const { format = "auto", ...control } = checkOptions("generate.reasoning", reasoning as ReasoningOptions, controlKinds);
  checkSeparation(format);
  return { separation: format, control };
}

function checkSeparation(reasoning: ResolvedGeneration["reasoning"]): void {
  if (reasoning === "auto" || reasoning === false || reasoning === "harmony") return;
  const tags: Partial<ReasoningTags> = typeof reasoning === "object" && reasoning !== null ? reasoning : {};
  checkKeys("generate.reasoning", tags, ["open", "close", "answer", "answerClose"]);
  const isTag = (tag: unknown): boolean => typeof tag === "string" && tag !== "";
  const isOptionalTag = (tag: unknown): boolean => tag === undefined || isTag(tag);
  if (isTag(tags.open) && isTag(tags.close) && isOptionalTag(tags.answer) && isOptionalTag(tags.answerClose)) return;
  throw new ArgumentError("reasoning", '"auto", "harmony", false or { open, close } with tags that are not empty', describe(reasoning));
}

/** The policy for a generation of `maxTokens` in a context of `contextLength`. @throws {ArgumentError} if `room` does not fit the context */
export function resolveOverflow({ overflow, maxTokens }: ResolvedGeneration, contextLength: number): ResolvedOverflow {
  const quarter = Math.max(1, Math.floor(contextLength / 4));
  const { prompt = "error", generation = "stop", keep = quarter, room = Math.min(maxTokens, quarter) } = overflow;
  return { prompt, generation, keep, room: checkValue("overflow.room", room, whole(1, Math.max(1, contextLength - 1))) };
}
