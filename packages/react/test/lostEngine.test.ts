// @vitest-environment happy-dom
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { createModelStore } from "@centella/llm/store";
import { act, configure, renderHook, waitFor } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";
import { type ChatMessage, useCentellaChat } from "../src/useCentellaChat.ts";
import { tiny } from "./tiny.ts";

// The first model compiles modules, too.
configure({ asyncUtilTimeout: 60_000, reactStrictMode: true });

/** Settings of answers that reach their limit: the end of a turn is never chosen. */
const endless = {
  temperature: 0,
  maxRetries: 0,
  maxOutputTokens: 900,
  providerOptions: { centella: { logitBias: { 4: -Infinity } } },
} as const;

/** Workers that serve models. */
class Workers {
  readonly started: Worker[] = [];

  readonly start = (): Worker => {
    const script = join(import.meta.dirname, "../../llm/test/workers/serving.ts");
    const worker = new Worker(script, { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
    this.started.push(worker);
    return worker;
  };
}

const textOf = ({ parts }: ChatMessage): string => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

test("an engine that ends in the middle of an answer is an error that keeps what was written, and the next one answers", async () => {
  // useChat logs the error, too.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const workers = new Workers();
  const store = createModelStore(new Uint8Array(tiny), { worker: workers.start, contextLength: 1024, sequences: 1 });
  onTestFinished(async () => {
    await store.unload();
    for (const worker of workers.started) await worker.terminate();
    vi.restoreAllMocks();
  });
  const { result: chat, unmount } = renderHook(() => useCentellaChat(store, { agent: endless }));
  let sent = Promise.resolve();
  act(() => {
    sent = chat.current.sendMessage({ text: "Tell me a long story." });
  });
  await waitFor(() => expect(textOf(chat.current.messages[1]!)).not.toBe(""));
  await workers.started[0]!.terminate();
  await act(() => sent);
  expect([chat.current.status, store.getSnapshot().status]).toEqual(["error", "lost"]);
  expect(chat.current.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  const kept = chat.current.messages[1]!;
  expect(textOf(kept)).not.toBe("");

  act(() => {
    sent = chat.current.regenerate();
  });
  await waitFor(() => {
    const answer = chat.current.messages[1]!;
    expect([answer.id === kept.id, textOf(answer).startsWith(textOf(kept))]).toEqual([false, true]);
  });
  await act(() => chat.current.stop());
  await act(() => sent);
  expect([chat.current.status, workers.started.length]).toEqual(["ready", 2]);
  unmount();
});
