import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { GeneratedText, GenerationPart, ToolCallPart } from "@centella/llm";

type TextKind = "text" | "reasoning";

/** Parts of a generation as parts of the AI SDK. Every start has its end. */
export class SdkParts {
  /** Number of blocks of text and reasoning so far. */
  #blocks = 0;
  #open: { readonly kind: TextKind; readonly id: string } | undefined;
  /** The call that is being written, and its arguments so far. */
  #call: { readonly id: string; input: string } | undefined;
  /** Tokens of the reasoning. */
  reasoningTokens = 0;

  /** The parts that a part becomes. Those of the finish are the caller's, but for open ends. */
  *of(part: GenerationPart): Generator<LanguageModelV4StreamPart, void, undefined> {
    switch (part.type) {
      case "reasoning":
        this.reasoningTokens += part.ids.length;
        yield* this.#text("reasoning", part);
        break;
      case "text":
        yield* this.#text("text", part);
        break;
      case "commentary":
        // Harmony's messages to tools are no text for the user.
        if (part.recipient === undefined) yield* this.#text("text", part);
        break;
      case "toolCall":
        yield* this.#closeText();
        yield* this.#toolCall(part);
        break;
      case "finish":
        yield* this.close();
        break;
      case "prefill":
        break;
    }
  }

  /** Ends what is open. A call that was cut short is none. */
  *close(): Generator<LanguageModelV4StreamPart, void, undefined> {
    yield* this.#closeText();
    if (this.#call !== undefined) yield { type: "tool-input-end", id: this.#call.id };
    this.#call = undefined;
  }

  *#text(kind: TextKind, { text }: GeneratedText): Generator<LanguageModelV4StreamPart, void, undefined> {
    if (text === "") return;
    if (this.#open?.kind !== kind) {
      yield* this.#closeText();
      this.#open = { kind, id: `${kind}-${this.#blocks++}` };
      yield { type: `${kind}-start`, id: this.#open.id };
    }
    yield { type: `${kind}-delta`, id: this.#open.id, delta: text };
  }

  *#closeText(): Generator<LanguageModelV4StreamPart, void, undefined> {
    if (this.#open === undefined) return;
    yield { type: `${this.#open.kind}-end`, id: this.#open.id };
    this.#open = undefined;
  }

  *#toolCall({
    id,
    name: toolName,
    argumentsDelta: delta,
    isFirst,
    isLast,
  }: ToolCallPart): Generator<LanguageModelV4StreamPart, void, undefined> {
    if (isFirst) yield { type: "tool-input-start", id, toolName };
    const call = this.#call ?? { id, input: "" };
    this.#call = call;
    if (delta !== "") {
      call.input += delta;
      yield { type: "tool-input-delta", id, delta };
    }
    if (!isLast) return;
    this.#call = undefined;
    yield { type: "tool-input-end", id };
    yield { type: "tool-call", toolCallId: id, toolName, input: call.input };
  }
}
