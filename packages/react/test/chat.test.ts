// @vitest-environment happy-dom
import { DeviceLostError } from "@centella/core";
import { createModelStore } from "@centella/llm/store";
import { act, cleanup, configure, renderHook, waitFor } from "@testing-library/react";
import { jsonSchema, lastAssistantMessageIsCompleteWithApprovalResponses, type Tool, tool } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type CentellaChatOptions, type ChatMessage, useCentellaChat } from "../src/useCentellaChat.ts";
import { CountedEngine, CountedSource } from "./engine.ts";

// The first model compiles modules, too.
configure({ asyncUtilTimeout: 60_000, reactStrictMode: true });

let engine: CountedEngine;
let source: CountedSource;
let store: ReturnType<typeof createModelStore>;

beforeEach(() => {
  engine = new CountedEngine();
  source = new CountedSource();
  store = createModelStore(source, { runtime: engine.runtime, contextLength: 1024, sequences: 1 });
});
afterEach(async () => {
  cleanup();
  await store.unload();
  vi.restoreAllMocks();
});

const animal = jsonSchema<{ readonly animal: string }>({
  type: "object",
  properties: { animal: { enum: ["fox", "owl"] } },
  required: ["animal"],
  additionalProperties: false,
});
/** Settings of an agent whose answers end by a limit alone. */
const greedy = { temperature: 0, maxOutputTokens: 12, maxRetries: 0 } as const;

/** Answers that reach their limit: the end of a turn is never chosen. */
const endless = { ...greedy, maxOutputTokens: 900, providerOptions: { centella: { logitBias: { 4: -Infinity } } } };

type Feed = { readonly feed: Tool<{ readonly animal: string }, string> };
type Chat = { readonly current: ReturnType<typeof useCentellaChat<Feed>> };

function rendered(options: CentellaChatOptions<Feed> = {}) {
  return renderHook(() => useCentellaChat<Feed>(store, { agent: greedy, ...options }));
}

const chatOf = (options?: CentellaChatOptions<Feed>): Chat => rendered(options).result;

/** Begins an answer. Returns a promise of its end. */
function begun(begin: () => Promise<void>): Promise<void> {
  let sent = Promise.resolve();
  act(() => {
    sent = begin();
  });
  return sent;
}

const started = (chat: Chat): Promise<void> => begun(() => chat.current.sendMessage({ text: "Tell me a long story." }));

const textOf = ({ parts }: ChatMessage<Feed>): string => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
const roles = (messages: readonly ChatMessage<Feed>[]): readonly string[] => messages.map(({ role }) => role);

describe("useCentellaChat", () => {
  test("the first message loads the model, and the answer has its progress, times and counts", async () => {
    const chat = chatOf();
    expect(store.getSnapshot().status).toBe("idle");
    await act(() => chat.current.sendMessage({ text: "Tell me a story about a fox." }));
    await waitFor(() => expect(chat.current.status).toBe("ready"));
    expect(source.loads).toBe(1);
    expect(roles(chat.current.messages)).toEqual(["user", "assistant"]);
    const [, answer] = chat.current.messages;
    const own = await store
      .model!.createSession()
      .complete([{ role: "user", content: "Tell me a story about a fox." }], { maxTokens: 12, temperature: 0 });
    expect(textOf(answer!)).toBe(own.text);
    const { promptTokens, completionTokens } = own.usage;
    expect(answer!.metadata).toMatchObject({
      prefill: { done: promptTokens, total: promptTokens },
      timings: { timeToFirstTokenMs: expect.any(Number) },
      usage: { promptTokens, completionTokens },
    });
  });

  test("the second turn computes little more than its own tokens", async () => {
    const chat = chatOf({ agent: { ...greedy, maxOutputTokens: 60 } });
    await act(() => chat.current.sendMessage({ text: "Tell me a story about a fox." }));
    await act(() => chat.current.sendMessage({ text: "More." }));
    await waitFor(() => expect(chat.current.status).toBe("ready"));
    const { promptTokens, cachedTokens } = chat.current.messages[3]!.metadata!.usage!;
    const first = chat.current.messages[1]!.metadata!.usage!;
    const added = promptTokens - first.promptTokens - first.completionTokens;
    expect(promptTokens - cachedTokens).toBeLessThanOrEqual(32 + added);
  });

  test("stop keeps what was written, and regenerate answers the same message again", async () => {
    const chat = chatOf({ agent: endless });
    const sent = started(chat);
    await waitFor(() => expect(textOf(chat.current.messages[1]!)).not.toBe(""));
    await act(() => chat.current.stop());
    await act(() => sent);
    expect(chat.current.status).toBe("ready");
    await waitFor(() => expect(store.getSnapshot().status).toBe("ready"));
    const stopped = chat.current.messages[1]!;
    const again = begun(() => chat.current.regenerate());
    await waitFor(() => {
      const answer = chat.current.messages[1]!;
      expect([answer.id === stopped.id, textOf(answer).startsWith(textOf(stopped))]).toEqual([false, true]);
    });
    await act(() => chat.current.stop());
    await act(() => again);
    expect(roles(chat.current.messages)).toEqual(["user", "assistant"]);
  });

  test("an answer ends when its component is unmounted", async () => {
    const { result, unmount } = rendered({ agent: endless });
    const sent = started(result);
    await waitFor(() => expect(store.getSnapshot().status).toBe("generating"));
    unmount();
    await sent;
    await waitFor(() => expect(store.getSnapshot().status).toBe("ready"));
  });

  test("stop ends the wait for a model that is being loaded, and the load goes on", async () => {
    let open = (): void => undefined;
    source.gate = new Promise((resolve) => {
      open = resolve;
    });
    const chat = chatOf();
    const sent = started(chat);
    await waitFor(() => expect(store.getSnapshot().status).toBe("checking"));
    await act(() => chat.current.stop());
    await act(() => sent);
    expect([chat.current.status, store.getSnapshot().status]).toEqual(["ready", "checking"]);
    open();
    await waitFor(() => expect(store.getSnapshot().status).toBe("ready"));
  });

  test("a tool that needs approval waits for it, and runs when it has it", async () => {
    const fed: string[] = [];
    const feed = tool({ inputSchema: animal, needsApproval: true, execute: async (input) => `fed ${fed.push(input.animal)}` });
    const chat = chatOf({
      agent: {
        ...greedy,
        maxOutputTokens: 100,
        tools: { feed },
        providerOptions: { centella: { parallelToolCalls: false } },
        // The small model would call the tool for ever.
        prepareStep: ({ messages }) => ({ toolChoice: messages.at(-1)!.role === "user" ? "required" : "none" }),
      },
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await act(() => chat.current.sendMessage({ text: "Feed the fox." }));
    const asked = chat.current.messages[1]!.parts.find((part) => part.type === "tool-feed")!;
    expect([asked.state, fed]).toEqual(["approval-requested", []]);
    await act(async () => chat.current.addToolApprovalResponse({ id: asked.approval!.id, approved: true }));
    await waitFor(() => expect(chat.current.messages[1]!.parts.at(-1)).toMatchObject({ type: "text", state: "done" }));
    expect(fed).toEqual([expect.stringMatching(/^(fox|owl)$/)]);
    expect(chat.current.messages[1]!.parts).toContainEqual(expect.objectContaining({ type: "tool-feed", output: "fed 1" }));
  });

  test("a model that cannot be loaded is the chat's error, and the next try answers", async () => {
    // useChat logs it, too.
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    source.problem = new Error("the drive is gone");
    const chat = chatOf();
    await act(() => chat.current.sendMessage({ text: "Hello!" }));
    expect(chat.current.status).toBe("error");
    expect(chat.current.error!.message).toContain("the drive is gone");
    source.problem = undefined;
    await act(() => chat.current.regenerate());
    expect(chat.current.status).toBe("ready");
    expect(textOf(chat.current.messages[1]!)).not.toBe("");
  });

  test("a conversation survives the loss of its engine", async () => {
    const chat = chatOf();
    await act(() => chat.current.sendMessage({ text: "Hello!" }));
    const loss = new DeviceLostError("gpu", "a test");
    await expect(store.model!.createSession().complete("Once", { signal: AbortSignal.abort(loss) })).rejects.toBe(loss);
    expect(store.getSnapshot().status).toBe("lost");
    await act(() => chat.current.sendMessage({ text: "More!" }));
    expect(roles(chat.current.messages)).toEqual(["user", "assistant", "user", "assistant"]);
    expect([chat.current.status, source.loads]).toEqual(["ready", 2]);
  });
});
