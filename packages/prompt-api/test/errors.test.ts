import { ArgumentError, DeviceLostError, DisposedError, UnsupportedError } from "@centella/core";
import { BusyError, ChatTemplateError, type Model, type RunPart } from "@centella/llm";
import { expect, test } from "vitest";
import { createLanguageModel } from "../src/index.ts";
import { failureOf } from "./languageModels.ts";

/** A model whose sessions answer with these parts, and then fail if there is an error. */
function modelThat(parts: readonly Partial<RunPart>[], error?: Error): Model {
  const session = {
    messages: [],
    reset() {},
    dispose() {},
    async *run() {
      yield* parts;
      if (error !== undefined) throw error;
    },
  };
  return { info: { contextLength: 64, sampling: {} }, createSession: () => session } as unknown as Model;
}

async function errorOf(model: Model): Promise<Error> {
  const session = await createLanguageModel({ model }).create();
  return failureOf(session.prompt("Hello!"));
}

test.each([
  [new ArgumentError("tools", "a name", "none"), "TypeError"],
  [new BusyError("busy", { running: 1, waiting: 0, maxWaiting: 0 }), "OperationError"],
  [new ChatTemplateError("no template"), "NotSupportedError"],
  [new DeviceLostError("gpu", "gone"), "UnknownError"],
  [new DisposedError("model"), "InvalidStateError"],
  [new UnsupportedError("tools", "not known"), "NotSupportedError"],
])("%s becomes one of the web platform, with its cause", async (cause, name) => {
  expect(await errorOf(modelThat([], cause))).toMatchObject({ name, message: cause.message, cause });
});

test("errors without a code stay as they are", async () => {
  const error = new Error("a defect");
  expect(await errorOf(modelThat([], error))).toBe(error);
});

test("an answer that only calls tools is an error", async () => {
  const usage = { promptTokens: 1, completionTokens: 1 } as const;
  const calls = { type: "finish", reason: "toolCalls", usage } as unknown as RunPart;
  expect(await errorOf(modelThat([calls]))).toMatchObject({ name: "OperationError" });
});

test("an answer that the context cuts short is an overflow", async () => {
  const text = { type: "text", text: "Once" } as const;
  const finish = {
    type: "finish",
    reason: "length",
    limit: "context",
    usage: { promptTokens: 60, completionTokens: 4 },
  } as unknown as RunPart;
  const session = await createLanguageModel({ model: modelThat([text, finish]) }).create();
  const heard: string[] = [];
  session.oncontextoverflow = ({ type }: Event) => heard.push(type);
  session.onquotaoverflow = ({ type }: Event) => heard.push(type);
  expect(await session.prompt("Hello!")).toBe("Once");
  expect([heard, session.contextUsage]).toEqual([["contextoverflow", "quotaoverflow"], 64]);
});
