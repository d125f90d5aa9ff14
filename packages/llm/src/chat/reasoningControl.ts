import { UnsupportedError } from "@centella/core";
import type { ChatOptions } from "./chatOptions.ts";
import type { ChatTemplate } from "./chatTemplate.ts";
import type { ChatMessage } from "./messages.ts";
import { opensReasoning } from "./reasoning.ts";

/** How long a model reasons. */
export interface ReasoningControl {
  /** Most tokens of reasoning. The tag that ends it is forced after them. Default: no limit. */
  readonly budget?: number | undefined;
  /** How much the model should reason, as its chat template calls it: `"low"`, `"medium"`, `"high"`. */
  readonly effort?: string | undefined;
  /** Turn reasoning off by the chat template's own switch, or by a thought without text. Default false. */
  readonly off?: boolean | undefined;
}

/** Variables by which templates turn reasoning off. */
const switches: ChatOptions["variables"] = { enable_thinking: false, thinking: false };
/** Variables by which templates set how much to reason. */
const effortNames = ["reasoning_effort", "thinking_effort"];

/** What decides whether options of reasoning have an effect. */
export interface ControlledTurn {
  /** Whether the chat template renders the prompt. */
  readonly isChat: boolean;
  /** Whether the reasoning is separated from the answer. */
  readonly isSeparated: boolean;
}

/** @throws {UnsupportedError} for an option that has no effect: `effort` and `off` without a chat template, `budget` without separation */
export function checkControl({ budget, effort, off }: ReasoningControl, { isChat, isSeparated }: ControlledTurn): void {
  const templated = effort !== undefined ? "effort" : off === true ? "off" : undefined;
  if (templated !== undefined && !isChat)
    throw new UnsupportedError(`reasoning.${templated}`, "the prompt is no turn of a chat; pass a string or messages, without raw");
  if (budget !== undefined && !isSeparated)
    throw new UnsupportedError("reasoning.budget", "the reasoning is not separated from the answer; pass its tags as reasoning.format");
}

/** Options of rendering, and text to add to the prompt, with which a model reasons as `control` says. */
export interface ControlledPrompt {
  readonly chat: ChatOptions;
  /** Text after the rendered prompt. */
  readonly suffix: string;
}

/**
 * Applies `effort` and `off` to a prompt.
 * @throws {UnsupportedError} if the template knows no effort
 */
export function controlReasoning(
  { effort, off = false }: ReasoningControl,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  given: ChatOptions,
): ControlledPrompt {
  const names = effortNames.filter((name) => template.source.includes(name));
  if (effort !== undefined && names.length === 0)
    throw new UnsupportedError("reasoning.effort", "the chat template knows none; set a budget, or turn reasoning off");
  const efforts = effort === undefined ? {} : Object.fromEntries(names.map((name) => [name, effort]));
  const chat = { ...given, variables: { ...(off && switches), ...efforts, ...given.variables } };
  return { chat, suffix: off ? emptyThought(template, messages, chat, given) : "" };
}

/** A thought without text for a prompt, unless the template writes one. */
function emptyThought(template: ChatTemplate, messages: readonly ChatMessage[], off: ChatOptions, given: ChatOptions): string {
  const { reasoning } = template;
  if (reasoning === undefined) return "";
  if (reasoning === "harmony") return "<|channel|>analysis<|message|><|end|><|start|>assistant";
  const prompt = template.render(messages, off);
  if (opensReasoning(reasoning, prompt)) return `\n${reasoning.close}\n\n`;
  // A template with a switch renders something else with it.
  const isSwitched = prompt !== template.render(messages, given) || prompt.trimEnd().endsWith(reasoning.close);
  return isSwitched ? "" : `${reasoning.open}\n\n${reasoning.close}\n\n`;
}
