import { createInterface } from "node:readline/promises";
import { ContextOverflowError, type GenerateOptions, type Session } from "@centella/llm";
import type { Context } from "../command.ts";
import { messageOf } from "../failure.ts";
import type { Loaded } from "../loading.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usageError.ts";

/** Answers the lines of stdin until they end. */
export async function chatWith(
  { model }: Loaded,
  system: string | undefined,
  generation: GenerateOptions,
  { signal, output }: Context,
): Promise<void> {
  if (!model.info.hasChatTemplate) throw new UsageError("chat: expected a chat template in the file, got none; use centella run --raw");
  const session = model.createSession();
  const isTerminal = process.stdin.isTTY === true;
  const lines = createInterface({ input: process.stdin, ...(isTerminal && { output: process.stdout }), prompt: "> " });
  let answering: AbortController | undefined;
  const interrupt = (): void => {
    if (answering === undefined) lines.close();
    else answering.abort();
  };
  // On a terminal readline takes Ctrl-C; elsewhere it ends the command as it ends others.
  lines.on("SIGINT", interrupt);
  signal.addEventListener("abort", () => lines.close(), { once: true });
  let opening = system === undefined ? [] : [{ role: "system", content: system }];
  if (isTerminal) lines.prompt();
  for await (const line of lines) {
    if (line.trim() === "/exit") break;
    if (line.trim() !== "") {
      answering = new AbortController();
      const ending = AbortSignal.any([signal, answering.signal]);
      try {
        await answer(session, [...opening, { role: "user", content: line }], { ...generation, signal: ending }, output);
        opening = [];
      } catch (error) {
        if (signal.aborted) throw error;
        if (answering.signal.aborted) output.error("\n(ended)");
        else if (error instanceof ContextOverflowError) output.error(`centella: ${messageOf(error)}`);
        else throw error;
      } finally {
        answering = undefined;
      }
    }
    if (isTerminal) lines.prompt();
  }
  signal.throwIfAborted();
}

async function answer(
  session: Session,
  turn: readonly { readonly role: string; readonly content: string }[],
  options: GenerateOptions,
  output: Output,
): Promise<void> {
  let isThinking = false;
  for await (const part of session.generate(turn, options)) {
    if (part.type === "prefill") continue;
    if (part.type === "finish") {
      if (part.limit === "context") output.warn("\n(the context is full: --context, or --overflow shift)");
      continue;
    }
    if (isThinking !== (part.type === "reasoning")) {
      isThinking = !isThinking;
      output.write(isThinking ? "[thinking] " : "\n");
    }
    output.write(part.text);
  }
  output.write("\n");
}
