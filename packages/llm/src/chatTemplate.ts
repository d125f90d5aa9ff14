import { ChatTemplateError, chatTemplateKey, noChatTemplate } from "./errors.ts";
import { findReasoningFormat, type ReasoningFormat, separationOf } from "./reasoning.ts";
import { parseTemplate, renderTemplate, type Template } from "./templateRuntime.ts";
import type { Tokenizer } from "./tokenizer/tokenizer.ts";
import type { VocabularyMetadata } from "./tokenizer/vocabulary.ts";

// What chats need is one file.
export { separationOf };

/** A piece of a message whose content is a list. Only text can be rendered. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** One turn of a conversation; further fields (`tool_calls`, `name`, `reasoning_content`, …) reach the template as they are. */
export interface ChatMessage {
  /** Letters, digits, `_`, `.`, `-` and spaces. Usual: system, user, assistant, tool. */
  readonly role: string;
  readonly content?: string | readonly TextPart[] | null;
  readonly [field: string]: unknown;
}

/** How a conversation is rendered. */
export interface RenderOptions {
  /** End with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Tools in the template's format (usually OpenAI's function objects). */
  readonly tools?: readonly unknown[];
  readonly documents?: readonly unknown[];
  /** Further variables that the template knows, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** What `strftime_now` tells. Default: the present. */
  readonly now?: Date;
}

/** A template's text and the special tokens that it may name. */
export interface ChatTemplateSource {
  readonly source: string;
  /** Text of the BOS token, `bos_token` in the template. */
  readonly bosToken?: string;
  /** Text of the EOS token, `eos_token` in the template. */
  readonly eosToken?: string;
}

const rolePattern = /^[\w. -]+$/;
/** Ends of the private use area, from which a marker is chosen. */
const firstMarker = 0xe000;
const lastMarker = 0xf8ff;
const privateUse = /[\ue000-\uf8ff]/g;

/** The class, and what takes the answers of a file's template apart: nothing has to be fetched while chatting. */
export async function loadChatTemplate(metadata: VocabularyMetadata): Promise<typeof ChatTemplate> {
  const format = findReasoningFormat(metadata.optionalString(chatTemplateKey) ?? "");
  if (format !== undefined) await separationOf(format);
  return ChatTemplate;
}

/** A model's Jinja template that turns messages into the text that the model was trained on. */
export class ChatTemplate {
  /** The Jinja source. */
  readonly source: string;
  readonly #template: Template;
  readonly #tokens: { readonly bos_token: string; readonly eos_token: string };

  /** @throws {ChatTemplateError} if the source cannot be parsed */
  constructor({ source, bosToken = "", eosToken = "" }: ChatTemplateSource) {
    this.source = source;
    this.#template = parseTemplate(source);
    this.#tokens = { bos_token: bosToken, eos_token: eosToken };
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
    return new ChatTemplate({ source, ...(bosToken !== undefined && { bosToken }), ...(eosToken !== undefined && { eosToken }) });
  }

  /** How answers mark what the model thinks, as the template mentions it. */
  get reasoning(): ReasoningFormat | undefined {
    return findReasoningFormat(this.source);
  }

  /**
   * The prompt as text. To get ids use {@link encode}: in this text, markup that the template wrote and markup that a message's
   * content imitates look alike.
   * @throws {ChatTemplateError} if a message is malformed, or the template rejects the messages or fails
   */
  render(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    return this.#render(messages, options, (value) => value);
  }

  /**
   * The prompt as ids. Special tokens that the template writes are honoured; the same text inside a message's content, a tool or
   * another variable stays text. BOS comes first exactly once if the model wants it, whether or not the template writes it;
   * EOS is not added, for the turn is open.
   * @throws {ChatTemplateError} as {@link render}
   */
  encode(tokenizer: Tokenizer, messages: readonly ChatMessage[], options: RenderOptions = {}): Int32Array {
    const marker = unusedCharacter([this.source, this.#tokens, messages, options]);
    const marked = this.#render(messages, options, (value) =>
      mapStrings(value, (text) => insertAt(text, marker, tokenizer.guardOffsets(text))),
    );
    const specialBarriers: number[] = [];
    const text = marked
      .split(marker)
      .map((part, i, parts) => {
        if (i < parts.length - 1) specialBarriers.push((specialBarriers.at(-1) ?? 0) + part.length);
        return part;
      })
      .join("");
    const ids = tokenizer.encode(text, { addSpecial: false, parseSpecial: true, specialBarriers });
    if (!tokenizer.addBos || ids[0] === tokenizer.bosId) return ids;
    const withBos = new Int32Array(ids.length + 1);
    withBos[0] = tokenizer.bosId!;
    withBos.set(ids, 1);
    return withBos;
  }

  /** `guard` is applied to every value that comes from outside. */
  #render(messages: readonly ChatMessage[], options: RenderOptions, guard: (value: unknown) => unknown): string {
    if (!Array.isArray(messages) || messages.length === 0) {
      throw new ChatTemplateError("chat: expected at least one message, got none");
    }
    const { addGenerationPrompt = true, tools = null, documents = null, variables = {}, now = new Date() } = options;
    return renderTemplate(
      this.#template,
      this.source,
      {
        ...(guard(variables) as Record<string, unknown>),
        ...this.#tokens,
        messages: messages.map((message, i) => ({ ...(guard(normalise(message, i)) as object), role: message.role })),
        tools: guard(tools),
        documents: guard(documents),
        add_generation_prompt: addGenerationPrompt,
      },
      now,
    );
  }
}

/** Checks a message and joins a list of text parts to one text, which every template understands. */
function normalise(message: ChatMessage, index: number): ChatMessage {
  const where = `chat: message ${index}`;
  if (typeof message?.role !== "string" || !rolePattern.test(message.role)) {
    throw new ChatTemplateError(
      `${where}: expected a role of letters, digits, "_", ".", "-" and spaces, got ${JSON.stringify(message?.role)}`,
    );
  }
  const { content } = message;
  if (content === undefined || content === null || typeof content === "string") return message;
  if (!Array.isArray(content))
    throw new ChatTemplateError(`${where}: expected content to be text, a list of parts or null, got ${typeof content}`);
  const texts = content.map((part: unknown) => {
    const { type, text } = (part ?? {}) as Partial<TextPart>;
    if (type !== "text" || typeof text !== "string") {
      throw new ChatTemplateError(
        `${where}: expected parts of type "text", got ${JSON.stringify(type)}; other kinds of content are not supported`,
      );
    }
    return text;
  });
  return { ...message, content: texts.join("") };
}

function tokenText(metadata: VocabularyMetadata, name: "bos" | "eos"): string | undefined {
  const id = metadata.optionalNumber(`tokenizer.ggml.${name}_token_id`);
  return id === undefined ? undefined : metadata.optionalStrings("tokenizer.ggml.tokens")?.at(id);
}

/** A character that occurs nowhere in the strings of `values`, so that it can be found again in what is rendered from them. */
function unusedCharacter(values: unknown): string {
  const used = new Set<string>();
  mapStrings(values, (text) => {
    for (const [character] of text.matchAll(privateUse)) used.add(character);
    return text;
  });
  for (let code = firstMarker; code <= lastMarker; code++) {
    const character = String.fromCharCode(code);
    if (!used.has(character)) return character;
  }
  throw new ChatTemplateError("chat: expected messages that leave one private-use character free, got all of them");
}

function insertAt(text: string, insertion: string, offsets: readonly number[]): string {
  let out = "";
  let position = 0;
  for (const offset of offsets) {
    out += text.slice(position, offset) + insertion;
    position = offset;
  }
  return out + text.slice(position);
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((element) => mapStrings(element, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [map(key), mapStrings(element, map)]));
}
