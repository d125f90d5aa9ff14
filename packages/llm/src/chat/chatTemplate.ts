import { ArgumentError } from "@centella/core";
import { boolean, callback, check, checkOptions, isRecord, type Kinds, kind, string } from "@centella/quant/checks";
import { ChatTemplateError, chatTemplateKey, noChatTemplate } from "../errors.ts";
import { withBos } from "../tokenizer/tokenIds.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { VocabularyMetadata } from "../tokenizer/vocabulary.ts";
import { chatKinds, type RenderOptions } from "./chatOptions.ts";
import { isOpenAnswer } from "./conversation.ts";
import { type Origin, Text } from "./jinja/text.ts";
import { type ChatMessage, checkMessages, mergeInstructions, type Place, type PlainMessage, plainMessages } from "./messages.ts";
import { findReasoningFormat, type ReasoningFormat, separationOf } from "./reasoning.ts";
import { JinjaTemplate } from "./templateRuntime.ts";

export type { ChatMessage, TextPart } from "./messages.ts";
// Re-exported so that chats load a single file.
export { separationOf };

/** A template's text and the special tokens that it may name. */
export interface ChatTemplateSource {
  readonly source: string;
  /** Text of the BOS token, `bos_token` in the template. */
  readonly bosToken?: string;
  /** Text of the EOS token, `eos_token` in the template. */
  readonly eosToken?: string;
  /** Whether the vocabulary has a token of this text. Default: always true. */
  readonly isToken?: (text: string) => boolean;
}

const sourceKinds: Kinds<ChatTemplateSource> = { source: string, bosToken: string, eosToken: string, isToken: callback };
const renderKinds: Kinds<RenderOptions> = { ...chatKinds, addGenerationPrompt: boolean, continueFinalMessage: boolean };

/** Content of the probe message that shows whether a template renders a role. */
const probeText = "Answer in rhyme.";
/** Text that looks like a special token. */
const tokenLike = /<[|｜][^<>|｜]*[|｜]>/g;
/** Marks the end of a message that is continued. Its origin distinguishes it from the same character in a message. */
const endMark: Text = Text.of("\ufffc", "m");

/** A rendered chat. */
export interface PreparedChat {
  readonly text: string;
  /** Spans `[start, end)` of `text` that the template wrote: {@link EncodeOptions.parseSpecial} for this text. Ascending. */
  readonly specialSpans: readonly (readonly [start: number, end: number])[];
  /** One sentence for each change that was made to the messages before rendering. */
  readonly warnings: readonly string[];
}

/** Loads everything that chats with a file's template need, so that nothing is fetched while chatting. */
export async function loadChatTemplate(metadata: VocabularyMetadata): Promise<typeof ChatTemplate> {
  const format = findReasoningFormat(metadata.optionalString(chatTemplateKey) ?? "");
  if (format !== undefined) await separationOf(format);
  return ChatTemplate;
}

/** A model's Jinja template: renders messages as the prompt format that the model was trained on. */
export class ChatTemplate {
  /** The Jinja source. */
  readonly source: string;
  readonly #template: JinjaTemplate;
  readonly #tokens: { readonly bos_token: Text; readonly eos_token: Text };
  readonly #isToken: (text: string) => boolean;
  /** Results of {@link #renders}, by place and role. */
  readonly #rendered = new Map<string, boolean>();

  /** @throws {ChatTemplateError} if the source cannot be parsed */
  constructor(template: ChatTemplateSource) {
    const { source, bosToken = "", eosToken = "", isToken = () => true } = checkOptions("ChatTemplate", template, sourceKinds);
    check("ChatTemplate", "source", source, string);
    this.source = source;
    this.#template = new JinjaTemplate(source);
    this.#tokens = { bos_token: Text.of(bosToken, "t"), eos_token: Text.of(eosToken, "t") };
    this.#isToken = isToken;
  }

  /**
   * The template in a GGUF file's metadata: `tokenizer.chat_template`, or `tokenizer.chat_template.NAME` for one of several.
   * @throws {ChatTemplateError} if the file has none or it cannot be parsed
   */
  static fromMetadata(metadata: VocabularyMetadata, options: { readonly name?: string } = {}): ChatTemplate {
    const key = options.name === undefined ? chatTemplateKey : `${chatTemplateKey}.${options.name}`;
    const source = metadata.optionalString(key);
    if (source === undefined) throw new ChatTemplateError(noChatTemplate(key));
    const bosToken = tokenText(metadata, "bos");
    const eosToken = tokenText(metadata, "eos");
    const isToken = (text: string): boolean => Array.from(metadata.optionalStrings("tokenizer.ggml.tokens") ?? [text]).includes(text);
    return new ChatTemplate({ source, isToken, ...(bosToken !== undefined && { bosToken }), ...(eosToken !== undefined && { eosToken }) });
  }

  /** Format of the model's reasoning, detected from the template's source. */
  get reasoning(): ReasoningFormat | undefined {
    return findReasoningFormat(this.source);
  }

  /**
   * Renders the prompt as text. Use {@link encode} for ids: in plain text, the template's markup cannot be distinguished from markup that a
   * message imitates.
   * @throws {ArgumentError} if a message is malformed; {ChatTemplateError} if the template rejects the messages, fails or exceeds a limit
   */
  render(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    return this.prepare(messages, options).text;
  }

  /**
   * Renders the prompt as ids. Text becomes a special token only where the template wrote every character of it. The same text in a
   * message's content, a tool or another variable stays text, regardless of what the template does to it. The ids begin with exactly one BOS if the
   * model wants one, whether or not the template writes it. EOS is not added.
   * @throws as {@link render}
   */
  encode(tokenizer: Tokenizer, messages: readonly ChatMessage[], options: RenderOptions = {}): Int32Array {
    check(
      "encode",
      "tokenizer",
      tokenizer,
      kind("a tokenizer", (value) => isRecord(value) && typeof value.encode === "function"),
    );
    const { text, specialSpans } = this.prepare(messages, options);
    return withBos(tokenizer, tokenizer.encode(text, { addSpecial: false, parseSpecial: specialSpans }));
  }

  /**
   * Renders the prompt as text, with the spans in which special tokens are recognised. A system message is merged into the next user
   * message where the template does not render it.
   * @throws as {@link render}
   */
  prepare(messages: readonly ChatMessage[], options: RenderOptions = {}): PreparedChat {
    checkOptions("render", options, renderKinds);
    if (checkMessages("chat", messages).length === 0) throw new ArgumentError("chat", "at least one message", "none");
    const merged = mergeInstructions(plainMessages(messages), (role, place) => this.#renders(role, place));
    const text = this.#render(merged.messages, options);
    const { warnings } = merged;
    return { text: text.value, specialSpans: spansOf(text, "t"), warnings };
  }

  /**
   * Whether the template renders messages of this role in this place. Some templates reject a role, drop its messages, render the first one
   * alone, or write markup for it that the vocabulary does not have.
   */
  #renders(role: string, place: Place): boolean {
    const key = `${place} ${role}`;
    let isRendered = this.#rendered.get(key);
    if (isRendered === undefined) {
      isRendered = this.#probe(role, place);
      this.#rendered.set(key, isRendered);
    }
    return isRendered;
  }

  #probe(role: string, place: Place): boolean {
    const user = { role: "user", content: "Hello" };
    const before = {
      first: [],
      second: [{ role, content: "Be brief." }],
      later: [user, { role: "assistant", content: "Hi" }],
    }[place];
    const text = this.#tryToRender([...before, { role, content: probeText }, user]);
    // Where the conversation cannot be rendered without the message either, the template's own error says why.
    if (text === undefined) return this.#tryToRender([...before, user]) === undefined;
    const written = spansOf(text, "t").map(([start, end]) => text.value.slice(start, end));
    const markup = written.flatMap((part) => part.match(tokenLike) ?? []).filter((token) => token.toLowerCase().includes(role));
    return text.value.includes(probeText) && markup.every(this.#isToken);
  }

  #tryToRender(messages: readonly PlainMessage[]): Text | undefined {
    try {
      return this.#render(messages, {});
    } catch {
      return undefined;
    }
  }

  #render(messages: readonly PlainMessage[], options: RenderOptions): Text {
    const {
      addGenerationPrompt = true,
      continueFinalMessage = false,
      tools = null,
      documents = null,
      variables,
      now = new Date(),
    } = options;
    const text = this.#template.render(
      {
        ...variables,
        ...this.#tokens,
        messages: (continueFinalMessage ? withEndMark(messages) : messages).map(trustRole),
        tools,
        documents,
        add_generation_prompt: addGenerationPrompt && !continueFinalMessage,
      },
      now,
    );
    return continueFinalMessage ? upToEndMark(text) : text;
  }
}

/** Marks the role as written by the template: templates build special tokens such as `<|user|>` from roles, which come from the app. */
function trustRole(message: object & { readonly role: string }): object {
  return { ...message, role: Text.of(message.role, "t") };
}

function tokenText(metadata: VocabularyMetadata, name: "bos" | "eos"): string | undefined {
  const id = metadata.optionalNumber(`tokenizer.ggml.${name}_token_id`);
  return id === undefined ? undefined : metadata.optionalStrings("tokenizer.ggml.tokens")?.at(id);
}

function withEndMark(
  messages: readonly PlainMessage[],
): readonly (Omit<PlainMessage, "content"> & { readonly role: string; readonly content?: unknown })[] {
  const last = messages.at(-1);
  if (last === undefined || !isOpenAnswer(last)) {
    throw new ChatTemplateError(
      `chat: expected an assistant's message with content and without tool_calls to continue, got one of ${last?.role}`,
    );
  }
  return [...messages.slice(0, -1), { ...last, content: Text.of(last.content, "c").concat(endMark) }];
}

function upToEndMark(text: Text): Text {
  let end = text.origins.lastIndexOf("m");
  if (end < 0)
    throw new ChatTemplateError("chat: expected a template that writes the assistant's last message, got one that leaves it out");
  while (text.origins[end - 1] === "m") end--;
  return text.slice(0, end);
}

/** Spans `[start, end)` of characters of one origin. */
function spansOf({ origins }: Text, origin: Origin): [start: number, end: number][] {
  const spans: [number, number][] = [];
  for (let start = origins.indexOf(origin); start >= 0; start = origins.indexOf(origin, start)) {
    const from = start;
    while (origins[start] === origin) start++;
    spans.push([from, start]);
  }
  return spans;
}
