import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll } from "vitest";
import { type AnswerDefaults, createLanguageModel, type LanguageModelClass } from "../src/index.ts";
import { startWorker, tiny } from "./place.ts";

export { tiny } from "./place.ts";

export const contextLength = 256;

/** A runtime that the tests of a file share. */
export async function openRuntime(): Promise<Runtime> {
  const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  afterAll(() => runtime.dispose());
  return runtime;
}

/** The same model over a runtime and over a worker, for all tests of a file. Answers are short and always the same. */
export async function openLanguageModels(
  defaults: AnswerDefaults = {},
  length: number = contextLength,
): Promise<readonly (readonly [name: string, model: LanguageModelClass])[]> {
  const runtime = await openRuntime();
  const worker = startWorker();
  const options = { source: tiny, load: { contextLength: length, sequences: 2 }, defaults: { temperature: 0, maxTokens: 12, ...defaults } };
  const models = [
    ["a runtime", createLanguageModel({ ...options, runtime })],
    ["a worker", createLanguageModel({ ...options, worker })],
  ] as const;
  afterAll(async () => {
    for (const [, model] of models) await model.unload();
    await worker.terminate();
  });
  return models;
}

/** The error of work, which must fail. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    return error as Error;
  }
  throw new Error("expected an error, got none");
}

/** The whole text of a stream. */
export async function textOf(stream: ReadableStream<string>): Promise<string> {
  let text = "";
  for await (const piece of stream) text += piece;
  return text;
}
