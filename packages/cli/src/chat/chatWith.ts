import { GgufError } from "@centella/gguf";
import type { Context } from "../command.ts";
import { isUsage, messageOf } from "../failure.ts";
import type { GenerateValues } from "../generateOptions.ts";
import type { Loaded } from "../loading.ts";
import type { McpServers } from "../mcp/mcpServers.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usageError.ts";
import { commandOf } from "./chatCommands.ts";
import { Conversation } from "./conversation.ts";
import { openTurns, type TurnSource } from "./turnSource.ts";

/** What a chat begins with. */
export interface ChatStart {
  readonly system: string | undefined;
  readonly values: GenerateValues;
  /** Connects the servers whose tools the model may call. `ask` asks the person who chats. */
  readonly connect?: (ask: TurnSource["ask"], signal: AbortSignal) => Promise<McpServers>;
}

/**
 * Answers the turns of stdin until its end.
 * @throws {UsageError} if the model has no chat template; an error if the last turn failed
 */
export async function chatWith(loaded: Loaded, start: ChatStart, context: Context): Promise<void> {
  const { signal, output } = context;
  const { info } = loaded.model;
  if (!info.hasChatTemplate) throw new UsageError("chat: expected a chat template in the file, got none; use centella run --raw");
  output.note(`${loaded.name} · ${info.quantization} · ${info.backend} · context of ${info.contextLength} tokens`);
  output.note("/help lists commands, Ctrl-D ends the chat");
  let turns: TurnSource | undefined;
  const ask = async (question: string): Promise<string> => (await turns?.ask(question)) ?? "";
  await using servers = await start.connect?.(ask, signal);
  const tools = servers?.tools ?? [];
  if (servers !== undefined) output.note(`tools: ${tools.map(({ name }) => name).join(", ") || "none"}`);
  const conversation = new Conversation(loaded, { ...start, tools }, output, signal);
  turns = openTurns(signal);
  try {
    for (let turn = await turns.next(); turn !== undefined; turn = await turns.next()) {
      let isOver = false;
      await turns.during(async (interrupt) => {
        isOver = await take(turn, conversation, output, interrupt);
      });
      if (isOver) break;
    }
  } finally {
    turns.close();
  }
  signal.throwIfAborted();
  if (conversation.hasFailed) throw new Error("chat: the last turn was not answered");
}

/** Answers a turn or runs a command. Returns whether the chat is over. */
async function take(turn: string, conversation: Conversation, output: Output, interrupt: AbortSignal): Promise<boolean> {
  if (turn.trim() === "") return false;
  try {
    const called = commandOf(turn);
    if (called !== undefined) return (await called.command.run(called.argument, { conversation, output, interrupt })) === "exit";
  } catch (error) {
    if (!isMistake(error)) throw error;
    output.error(`centella: ${messageOf(error)}`);
    return false;
  }
  await conversation.answer(turn, interrupt);
  return false;
}

/** Whether a command was wrong, or named a file that cannot be read or written. */
function isMistake(error: unknown): boolean {
  return isUsage(error) || error instanceof GgufError || (error instanceof Error && "syscall" in error);
}
