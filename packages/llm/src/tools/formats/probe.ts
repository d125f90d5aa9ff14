import type { ChatTemplate } from "../../chat/chatTemplate.ts";
import type { ChatMessage } from "../../chat/messages.ts";

/** A call of a probe message. */
export interface ProbeCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** How a probe message passes its calls. */
export interface ProbeStyle {
  readonly args: "object" | "text";
  readonly content: "" | null;
}

export const toolNames = ["probe_plum", "probe_pear", "probe_fig"] as const;
export const keys = ["probe_kiwi", "probe_lime", "probe_nut"] as const;
/** Variables that templates read tools from. */
const toolsVariables = ["tools", "xml_tools", "functions"];

/** Variables with which a template renders tools. */
export function toolVariables(name: string, tools: readonly unknown[]): Readonly<Record<string, unknown>> {
  return name === "tools" ? {} : { [name]: name === "functions" ? JSON.stringify(tools) : tools };
}

const question = "Tell me about the probe.";
const answer = "Probed: all is well.";

const tools = toolNames.map((name) => ({
  type: "function",
  function: {
    name,
    description: "Probes.",
    parameters: {
      type: "object",
      properties: Object.fromEntries(keys.map((key) => [key, { type: "string", description: "Probed." }])),
      required: [...keys],
    },
  },
}));

/** Call `i` of a probe message. */
export function probeCall(i: number, args: Readonly<Record<string, unknown>>): ProbeCall {
  return { id: `q${i}w2e3r4t`, name: toolNames[i] as string, args };
}

/** Renders chats that show how a template writes tools, calls and results. */
export class TemplateProbe {
  readonly #template: ChatTemplate;
  /** The variable that the template reads tools from, if it does. */
  readonly toolsVariable: string | undefined;

  constructor(template: ChatTemplate) {
    this.#template = template;
    this.toolsVariable = toolsVariables.find((name) => {
      const text = this.#render([user], true, name);
      return toolNames.every((tool) => text?.includes(tool));
    });
  }

  /** What an assistant's turn with these calls is rendered as, after the header that a prompt ends with and after the reasoning. */
  calls(calls: readonly ProbeCall[], style: ProbeStyle, content = ""): string | undefined {
    return this.#turn(callMessage(calls, style, content));
  }

  /** What precedes and what follows a plain answer in its turn. */
  answer(): { readonly before: string; readonly after: string } {
    const text = this.#turn({ role: "assistant", content: answer }) ?? answer;
    const at = text.indexOf(answer);
    return at < 0 ? { before: "", after: "" } : { before: text.slice(0, at).trimStart(), after: text.slice(at + answer.length) };
  }

  /** The text between a plain content and the calls after it; undefined where the template does not render both. */
  afterContent(calls: readonly ProbeCall[], style: ProbeStyle): string | undefined {
    const text = this.#turn(callMessage(calls, style, answer));
    const at = text?.indexOf(answer) ?? -1;
    return text === undefined || at < 0 ? undefined : text.slice(at + answer.length);
  }

  /** Whether the template renders the result of a call. */
  rendersResults(call: ProbeCall, style: ProbeStyle): boolean {
    const result = { role: "tool", tool_call_id: call.id, name: call.name, content: answer };
    return this.#render([user, callMessage([call], style, ""), result], true)?.includes(answer) ?? false;
  }

  #turn(message: ChatMessage): string | undefined {
    const whole = this.#render([user, message], false);
    const prompt = this.#render([user], true);
    if (whole === undefined) return undefined;
    const [turn, header] = [afterQuestion(whole), afterQuestion(prompt ?? "")];
    let length = 0;
    while (length < header.length && header[length] === turn[length]) length++;
    const start = tagStart(turn, length);
    // Some prompts have more text before the header than a chat with an answer.
    const role = lastTag.exec(header)?.[0] ?? "";
    const isHeader = role !== "" && start < header.length && turn.startsWith(role, start);
    return this.#answerOf(turn.slice(isHeader ? start + role.length : start));
  }

  /** What follows the reasoning, without the tags of answers. */
  #answerOf(turn: string): string {
    const { reasoning } = this.#template;
    const tags = typeof reasoning === "object" ? reasoning : undefined;
    const text = afterReasoning(turn, tags?.close);
    const { answer: open, answerClose } = tags ?? {};
    if (open === undefined || !text.trimStart().startsWith(open)) return text;
    const inside = text.trimStart().slice(open.length);
    return answerClose === undefined ? inside : inside.replace(answerClose, "");
  }

  #render(
    messages: readonly ChatMessage[],
    addGenerationPrompt: boolean,
    toolsVariable = this.toolsVariable ?? "tools",
  ): string | undefined {
    try {
      // Some templates write the date.
      const variables = { datetime: "today", ...toolVariables(toolsVariable, tools) };
      return this.#template.render(messages, { tools, addGenerationPrompt, variables, now: new Date(0) });
    } catch {
      return undefined;
    }
  }
}

const user: ChatMessage = { role: "user", content: question };

function callMessage(calls: readonly ProbeCall[], style: ProbeStyle, content: string): ChatMessage {
  return {
    role: "assistant",
    content: content === "" ? style.content : content,
    tool_calls: calls.map(({ id, name, args }) => ({
      id,
      type: "function",
      function: { name, arguments: style.args === "object" ? args : JSON.stringify(args) },
    })),
  };
}

function afterQuestion(text: string): string {
  const at = text.lastIndexOf(question);
  return at < 0 ? text : text.slice(at + question.length);
}

/** The latest position up to `length` at which no tag is cut in two. */
function tagStart(text: string, length: number): number {
  const open = text.lastIndexOf("<", length - 1);
  return open >= 0 && !text.slice(open, length).includes(">") ? open : length;
}

const lastTag = /<[^<>]*>\s*$/;
const closingTag = /<\/[\w:]*think[\w:]*>/g;

function afterReasoning(text: string, close: string | undefined): string {
  const begun = [answer, ...toolNames].map((marker) => text.indexOf(marker)).filter((at) => at >= 0);
  const thought = text.slice(0, Math.min(text.length, ...begun));
  const ends = [...thought.matchAll(closingTag)].map(({ index, 0: tag }) => index + tag.length);
  if (close !== undefined && thought.includes(close)) ends.push(thought.lastIndexOf(close) + close.length);
  return text.slice(Math.max(0, ...ends));
}
