import type { ToolCallPart } from "@centella/llm";
import type { Answer } from "../generation/answer.ts";
import type { AnswerPart } from "../generation/answerParts.ts";
import { serverSentEvent } from "../http/apiForm.ts";
import { emptyMessage, stopOf, usageOf } from "./messageBody.ts";

function eventOf(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return serverSentEvent(data, data.type);
}

/** Keeps a silent connection open. */
export const pingEvent: string = eventOf({ type: "ping" });

/** Numbers the blocks of a message, of which one is open at a time. */
class Blocks {
  #index = -1;
  #open: string | undefined;

  /** Opens a block unless one with the same key is open. */
  begin(key: string, block: object): string {
    if (this.#open === key) return "";
    const ended = this.end();
    this.#open = key;
    return ended + eventOf({ type: "content_block_start", index: ++this.#index, content_block: block });
  }

  delta(delta: object): string {
    return eventOf({ type: "content_block_delta", index: this.#index, delta });
  }

  end(): string {
    if (this.#open === undefined) return "";
    this.#open = undefined;
    return eventOf({ type: "content_block_stop", index: this.#index });
  }
}

/** The events of a message. */
export async function* messageEvents(answer: Answer): AsyncGenerator<string, void, undefined> {
  const blocks = new Blocks();
  let hasBegun = false;
  for await (const { part } of answer.parts()) {
    if (part.type === "prefill") {
      if (hasBegun) continue;
      hasBegun = true;
      const message = { ...emptyMessage(answer), stop_reason: null, stop_sequence: null, usage: usageOf(part.total, part.done, 0) };
      yield eventOf({ type: "message_start", message });
    } else if (part.type === "finish") {
      const { promptTokens, cachedTokens, completionTokens } = part.usage;
      yield blocks.end() +
        eventOf({ type: "message_delta", delta: stopOf(part), usage: usageOf(promptTokens, cachedTokens, completionTokens) }) +
        eventOf({ type: "message_stop" });
    } else {
      const events = eventsOf(part, blocks);
      if (events !== "") yield events;
    }
  }
}

function eventsOf(part: Exclude<AnswerPart, { readonly type: "finish" | "prefill" }>, blocks: Blocks): string {
  switch (part.type) {
    case "reasoning":
      return (
        blocks.begin("thinking", { type: "thinking", thinking: "", signature: "" }) +
        blocks.delta({ type: "thinking_delta", thinking: part.text })
      );
    case "commentary":
      // Harmony's messages to tools are no text.
      return part.recipient === undefined ? textEvents(part.text, blocks) : "";
    case "text":
      return textEvents(part.text, blocks);
    case "toolCall":
      return callEvents(part, blocks);
  }
}

function textEvents(text: string, blocks: Blocks): string {
  return blocks.begin("text", { type: "text", text: "" }) + blocks.delta({ type: "text_delta", text });
}

function callEvents({ id, name, argumentsDelta }: ToolCallPart, blocks: Blocks): string {
  const begun = blocks.begin(`call ${id}`, { type: "tool_use", id, name, input: {} });
  return argumentsDelta === "" ? begun : begun + blocks.delta({ type: "input_json_delta", partial_json: argumentsDelta });
}
