import type { Tool } from "@centella/llm";
import type { EngineModel } from "@centella/llm/store";
import type { ToolDefinition } from "./definitions.ts";
import type { Sandbox } from "./sandbox.ts";

/** A piece of what happened: text of the model, or a call with its result. */
export type Event =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      readonly result?: string;
      readonly isError?: boolean;
    };

interface ToolTask {
  readonly model: EngineModel;
  readonly sandbox: Sandbox;
  readonly definitions: readonly ToolDefinition[];
  readonly prompt: string;
  readonly choice: "auto" | "required";
  readonly signal: AbortSignal;
}

/** Most tokens of each answer. */
const maxTokens = 300;

/** Answers a prompt with tools. A call that is required is made once; the answer after it is free. */
export async function runTools(
  { model, sandbox, definitions, prompt, choice, signal }: ToolTask,
  show: (events: readonly Event[]) => void,
): Promise<readonly Event[]> {
  const tools = definitions.map((definition) => toolOf(definition, sandbox));
  const session = model.createSession();
  let events: readonly Event[] = [];
  const update = (next: readonly Event[]): void => {
    events = next;
    show(next);
  };
  const options = { tools, toolChoice: choice, parallelToolCalls: false, maxTokens, signal } as const;
  for await (const part of session.run(prompt, options)) {
    if (part.type === "text") update(withText(events, part.text));
    else if (part.type === "toolCall") update(withCall(events, part));
    else if (part.type === "toolResult") {
      const { id, result, isError } = part;
      update(events.map((event) => (event.type === "call" && event.id === id ? { ...event, result, isError } : event)));
    }
  }
  return events;
}

function toolOf({ name, description, schema, code }: ToolDefinition, sandbox: Sandbox): Tool<unknown> {
  return { name, description, inputSchema: JSON.parse(schema), execute: (input) => sandbox.call(code, input) };
}

function withText(events: readonly Event[], text: string): readonly Event[] {
  const last = events.at(-1);
  return last?.type === "text" ? [...events.slice(0, -1), { type: "text", text: last.text + text }] : [...events, { type: "text", text }];
}

function withCall(
  events: readonly Event[],
  { id, name, argumentsDelta }: { readonly id: string; readonly name: string; readonly argumentsDelta: string },
): readonly Event[] {
  if (!events.some((event) => event.type === "call" && event.id === id))
    return [...events, { type: "call", id, name, input: argumentsDelta }];
  return events.map((event) => (event.type === "call" && event.id === id ? { ...event, input: event.input + argumentsDelta } : event));
}
