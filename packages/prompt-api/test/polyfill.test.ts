/// <reference types="dom-chromium-ai" />
import { loadModel } from "@centella/llm";
import { afterEach, expect, test } from "vitest";
import { createLanguageModel, type PromptSession, polyfill } from "../src/index.ts";
import { openRuntime, tiny } from "./languageModels.ts";
import { chat } from "./pages/chromePage.ts";

const runtime = await openRuntime();
const model = await loadModel(tiny, { runtime, contextLength: 512 });
const install = { model, defaults: { maxTokens: 20, temperature: 0 } } as const;

const installed = (): unknown => Reflect.get(globalThis, "LanguageModel");

afterEach(() => {
  Reflect.deleteProperty(globalThis, "LanguageModel");
});

test("a page that is written for Chrome runs", async () => {
  expect(polyfill(install)).toBe(installed());
  const [loaded, story, answer, ...rest] = await chat();
  expect(loaded).toBe("available, loaded");
  expect(story?.length).toBeGreaterThan(20);
  expect(answer).toMatch(/^(yes|no)$/);
  expect(rest).toEqual(["There is room.", "InvalidStateError"]);
});

test("the browser's own model stays, unless it is replaced on purpose", () => {
  const own = {};
  Object.assign(globalThis, { LanguageModel: own });
  expect(polyfill(install)).toBeUndefined();
  expect(installed()).toBe(own);
  expect(polyfill({ ...install, force: true })).toBe(installed());
  expect(installed()).not.toBe(own);
});

test("wrong options are refused, also where the browser's own stays", () => {
  Object.assign(globalThis, { LanguageModel: {} });
  expect(() => polyfill(undefined as never)).toThrow(/^polyfill: expected options to be an object/);
  expect(() => polyfill({ ...install, force: 1 as never })).toThrow(/^polyfill: expected force to be true or false, got 1/);
  expect(() => polyfill({ ...install, models: [] } as never)).toThrow(/^createLanguageModel: .*got models/);
});

test("the class and its sessions have Chrome's types", async () => {
  // The compiler checks the assignments.
  const standIn: typeof LanguageModel = createLanguageModel(install);
  const session: LanguageModel = await createLanguageModel(install).create();
  const own: PromptSession = await createLanguageModel(install).create();
  const options: LanguageModelCreateOptions = { samplingMode: "creative", initialPrompts: [{ role: "user", content: "Hello!" }] };
  expect((await standIn.create(options)).contextUsage).toBeGreaterThan(session.contextUsage);
  expect(own.samplingMode).toBe("balanced");
});
