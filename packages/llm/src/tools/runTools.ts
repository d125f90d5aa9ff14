import type { ChatMessage } from "../chat/messages.ts";
import { validated } from "../format/standardSchema.ts";
import type { GenerateOptions, RunOptions } from "../generate/generateOptions.ts";
import type { GenerationFinish, GenerationPart } from "../generate/generationParts.ts";
import type { Prompt } from "../generate/promptInput.ts";
import type { Tool, ToolCall } from "./tools.ts";

/** The result of a call of a tool. */
export interface ToolResultPart {
  readonly type: "toolResult";
  readonly id: string;
  readonly name: string;
  /** What the model gets: text, or the JSON of another value. */
  readonly result: string;
  /** Whether the tool failed. The result then is the error's message. */
  readonly isError: boolean;
}

/** A part of a run: the parts of its answers, each with its finish, and the results of calls between them. */
export type RunPart<Value = unknown> = GenerationPart<Value> | ToolResultPart;

/** A session, in this thread or in a worker. */
interface RunningSession {
  readonly messages: readonly ChatMessage[];
  generate(prompt: Prompt, options: GenerateOptions): AsyncIterable<GenerationPart>;
  reset(messages: readonly ChatMessage[]): void;
}

const defaultMaxSteps = 8;

/**
 * Answers a prompt, calls the tools that the model asks for, and goes on with their results until an answer has no calls. If the
 * run fails, is aborted or its loop is left early, the session returns to its messages before the run, unless `onAbort` is "keep".
 */
export async function* runTools(
  session: RunningSession,
  prompt: Prompt,
  { maxSteps = defaultMaxSteps, ...options }: RunOptions,
): AsyncGenerator<RunPart, void, undefined> {
  const before = session.messages;
  const restore = (): void => {
    if (session.messages !== before) session.reset(options.onAbort === "keep" ? answered(session.messages) : before);
  };
  let isOver = false;
  try {
    yield* steps(session, prompt, maxSteps, options);
    isOver = true;
  } catch (error) {
    isOver = true;
    try {
      restore();
    } catch {
      // The session was disposed of, or another turn has begun. Callers need the error that ended the run.
    }
    throw error;
  } finally {
    if (!isOver) restore();
  }
}

async function* steps(
  session: RunningSession,
  prompt: Prompt,
  maxSteps: number,
  given: GenerateOptions,
): AsyncGenerator<RunPart, void, undefined> {
  let options = given;
  let next = prompt;
  for (let step = 1; ; step++) {
    let finish: GenerationFinish | undefined;
    for await (const part of session.generate(next, options)) {
      if (part.type === "finish") finish = part;
      yield part;
    }
    const { toolCalls = [] } = finish ?? {};
    const tools = toolCalls.map(({ name }) => options.tools?.find((tool) => tool.name === name));
    if (finish?.reason !== "toolCalls" || step >= maxSteps || tools.some((tool) => tool?.execute === undefined)) return;
    const results = await Promise.all(toolCalls.map((call, i) => resultOf(call, tools[i] as Tool, options.signal)));
    options.signal?.throwIfAborted();
    yield* results;
    next = results.map(({ id, name, result }) => ({ role: "tool", tool_call_id: id, name, content: result }));
    // A choice that forces calls would force them forever.
    options = { ...options, toolChoice: given.toolChoice === "none" ? "none" : "auto" };
  }
}

/** Calls a tool. Its errors become its result, an abort rejects. */
async function resultOf({ id, name, arguments: args }: ToolCall, tool: Tool, signal: AbortSignal | undefined): Promise<ToolResultPart> {
  const about = { type: "toolResult", id, name } as const;
  try {
    const input = await validated(tool.inputSchema, args);
    if ("issues" in input) return { ...about, result: `Error: ${input.issues.map(({ message }) => message).join("; ")}`, isError: true };
    const value = await untilAborted(async () => tool.execute?.(input.value as never, { id, signal }), signal);
    return { ...about, result: typeof value === "string" ? value : (JSON.stringify(value) ?? "null"), isError: false };
  } catch (error) {
    signal?.throwIfAborted();
    return { ...about, result: `Error: ${error instanceof Error ? error.message : String(error)}`, isError: true };
  }
}

/** Waits for work, which may ignore the signal. */
async function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A conversation without calls at its end that have no results. */
function answered(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.at(-1);
  return last?.role === "assistant" && last.tool_calls !== undefined ? messages.slice(0, -1) : messages;
}
