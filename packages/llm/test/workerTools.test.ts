import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type GenerateOptions, type RunPart, tool } from "../src/index.ts";
import { loadModel, type WorkerModel } from "../src/worker/index.ts";
import { tiny } from "./modelFiles.ts";

const worker = new Worker(new URL("workers/serving.ts", import.meta.url), { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
let model: WorkerModel;
beforeAll(async () => {
  model = await loadModel(tiny, { worker, contextLength: 1024, sequences: 2 });
});
afterAll(async () => {
  await model.dispose();
  await worker.terminate();
});

const options: GenerateOptions = { temperature: 0, maxTokens: 200, toolChoice: "required", parallelToolCalls: false };
const Input = z.object({ animal: z.enum(["fox", "owl"]) });

test("tools are called in the thread of the session", async () => {
  const seen: string[] = [];
  const feed = tool({ name: "feed", inputSchema: Input, execute: ({ animal }) => void seen.push(animal) });
  const session = model.createSession();
  const parts: RunPart[] = [];
  for await (const part of session.run("Feed it", { ...options, maxSteps: 2, tools: [feed] })) parts.push(part);
  expect(parts.find(({ type }) => type === "toolResult")).toMatchObject({ id: "call00000", name: "feed", result: "null" });
  expect(seen).toHaveLength(1);
  expect(session.messages.slice(0, 3).map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
});

test("an aborted run leaves no trace", async () => {
  const controller = new AbortController();
  const stop = tool({ name: "stop", inputSchema: Input, execute: () => controller.abort(new Error("enough")) });
  const session = model.createSession();
  const run = async () => {
    for await (const _ of session.run("Stop", { ...options, tools: [stop], signal: controller.signal }));
  };
  await expect(run()).rejects.toThrow("enough");
  expect(session.messages).toEqual([]);
});

test("types of validation libraries validate values in the thread of the session", async () => {
  const Refused = Input.refine(() => false, "no cat");
  const { value } = await model.createSession().complete("An animal", { format: { schema: Input }, temperature: 0, maxTokens: 50 });
  expect(["fox", "owl"]).toContain(value?.animal);
  expect(await model.createSession().complete("An animal", { format: { schema: Refused }, temperature: 0, maxTokens: 50 })).toMatchObject({
    complete: true,
    issues: [{ message: "no cat" }],
  });
});

test("the format of calls is known", async () => {
  expect(await model.toolFormat).toMatchObject({ name: "hermes", template: { tools: undefined } });
});
