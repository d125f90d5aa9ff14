import { createInterface } from "node:readline/promises";
import { ContextOverflowError, type GenerateOptions, loadModel, type Session } from "@centella/llm";
import { fable } from "@centella/model-fable";
import { openRuntime } from "../backends.ts";
import type { Command } from "../command.ts";
import { generateOptions, readGenerateOptions } from "../generateOptions.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { parseOptions, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

const options = {
  system: text("TEXT", "what the chat begins with"),
  ...generateOptions,
  ...modelOptions,
};

/** `centella chat [FILE]`: a conversation, turn by turn. */
export const chat: Command = {
  usage: "chat [FILE]",
  summary: "talk with a model, turn by turn",
  details: "Each line of stdin is a turn. Ctrl-C ends an answer, or the chat where none is being written; /exit or Ctrl-D ends the chat.",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    if (positionals.length > 1) throw new UsageError(`chat: expected at most one FILE, got ${positionals.length}`);
    const generation = readGenerateOptions(values);
    const loading = loadOptions(values);
    const given = positionals[0];
    const file = given === undefined ? fable : await modelPath(given, signal, { isQuiet: false });
    const runtime = await openRuntime(values);
    try {
      const model = await loadModel(file, { runtime, signal, ...loading });
      if (!model.info.hasChatTemplate) throw new UsageError("chat: expected a chat template in the file, got none; use centella run");
      for (const warning of model.info.warnings) console.error(`warning: ${warning}`);
      await converse(model.createSession(), values.system, generation, signal);
    } finally {
      await runtime.dispose();
    }
  },
};

/** Answers the lines of stdin until they end. */
async function converse(session: Session, system: string | undefined, generation: GenerateOptions, signal: AbortSignal): Promise<void> {
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
        await answer(session, [...opening, { role: "user", content: line }], { ...generation, signal: ending });
        opening = [];
      } catch (error) {
        if (signal.aborted) throw error;
        if (answering.signal.aborted) console.error("\n(ended)");
        else if (error instanceof ContextOverflowError) console.error(`centella: ${error.message}`);
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
): Promise<void> {
  let isThinking = false;
  for await (const part of session.generate(turn, options)) {
    if (part.type === "prefill") continue;
    if (part.type === "finish") {
      if (part.limit === "context") console.error("\n(the context is full: --context, or --overflow shift)");
      continue;
    }
    if (isThinking !== (part.type === "reasoning")) {
      isThinking = !isThinking;
      process.stdout.write(isThinking ? "[thinking] " : "\n");
    }
    process.stdout.write(part.text);
  }
  process.stdout.write("\n");
}
