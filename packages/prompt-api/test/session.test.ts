import { loadModel, type RunPart, type Session } from "@centella/llm";
import { describe, expect, test, vi } from "vitest";
import { createLanguageModel } from "../src/index.ts";
import { contextLength, failureOf, openLanguageModels, openRuntime, textOf, tiny } from "./languageModels.ts";

const models = await openLanguageModels();
const story = "Tell me a story about a fox.";

describe.each(models)("a session over %s", (_, LanguageModel) => {
  test("answers are the same whole and streamed, and their tokens are counted", async () => {
    const [first, second] = [await LanguageModel.create(), await LanguageModel.create()];
    expect([first.contextUsage, first.contextWindow]).toEqual([0, contextLength]);
    expect(first).toBeInstanceOf(LanguageModel);
    const needed = await first.measureContextUsage(story);
    expect(await first.measureInputUsage(story)).toBe(needed);
    expect(first.contextUsage).toBe(0);
    const answer = await first.prompt(story);
    expect(answer.length).toBeGreaterThan(20);
    expect(first.contextUsage).toBe(needed + 12);
    expect(await textOf(second.promptStreaming(story))).toBe(answer);
    expect([second.inputUsage, second.inputQuota]).toEqual([first.contextUsage, contextLength]);
  });

  test("calls of one session run one after the other", async () => {
    const [session, other] = [await LanguageModel.create(), await LanguageModel.create()];
    // The stream is not read before the second answer is there.
    const stream = session.promptStreaming(story);
    const second = await session.prompt("More.");
    expect(await textOf(stream)).toBe(await other.prompt(story));
    expect(second).toBe(await other.prompt("More."));
    expect(session.contextUsage).toBe(other.contextUsage);
  });

  test("measuring and cloning do not wait for an answer", async () => {
    const session = await LanguageModel.create();
    const needed = await session.measureContextUsage(story);
    const answer = session.prompt(story);
    const [measured, clone] = await Promise.all([session.measureContextUsage(story), session.clone()]);
    expect([measured, clone.contextUsage]).toEqual([needed, 0]);
    expect(await clone.prompt(story)).toBe(await answer);
  });

  test("messages can be given at once, in the beginning, or one by one", async () => {
    const messages = [
      { role: "user", content: "Who are you?" },
      { role: "assistant", content: "A fox." },
      {
        role: "user",
        content: [
          { type: "text", value: story.slice(0, 6) },
          { type: "text", value: story.slice(6) },
        ],
      },
    ] as const;
    const atOnce = await LanguageModel.create();
    const answer = await atOnce.prompt(messages);
    const initial = await LanguageModel.create({ initialPrompts: messages.slice(0, 2) });
    expect(initial.contextUsage).toBeGreaterThan(0);
    expect(await initial.prompt(story)).toBe(answer);
    const oneByOne = await LanguageModel.create();
    for (const message of messages) expect(await oneByOne.append([message])).toBeUndefined();
    expect(oneByOne.contextUsage).toBe(atOnce.contextUsage - 12);
    await oneByOne.append([]);
    expect(oneByOne.contextUsage).toBe(atOnce.contextUsage - 12);
  });

  test("an answer after an answer, and one that continues a prefix", async () => {
    const turn = { role: "user", content: story } as const;
    const session = await LanguageModel.create();
    const added = await session.prompt([turn, { role: "assistant", content: "Once upon a time" }]);
    const prefixed = await LanguageModel.create();
    const continued = await prefixed.prompt([turn, { role: "assistant", content: "Once upon a time", prefix: true }]);
    expect(continued).not.toBe(added);
    expect(continued.startsWith("Once")).toBe(false);
    // The prefix and what follows are one message of the conversation.
    const told = await LanguageModel.create({ initialPrompts: [turn, { role: "assistant", content: `Once upon a time${continued}` }] });
    expect(await prefixed.measureContextUsage("More.")).toBe(await told.measureContextUsage("More."));
    expect(await prefixed.prompt("More.")).toBe(await told.prompt("More."));
  });

  test("a clone goes its own way from the same conversation", async () => {
    const session = await LanguageModel.create({ initialPrompts: [{ role: "user", content: "Be brief." }], topK: 5 });
    await session.prompt(story);
    const clone = await session.clone();
    expect(clone).toBeInstanceOf(LanguageModel);
    expect([clone.contextUsage, clone.topK]).toEqual([session.contextUsage, 5]);
    const before = session.contextUsage;
    const answer = await clone.prompt("More.");
    expect(session.contextUsage).toBe(before);
    session.destroy();
    expect(await clone.prompt("More.")).not.toBe("");
    expect(answer).not.toBe("");
  });

  test("the oldest turns make room, but never the initial prompts", async () => {
    const initialPrompts = [{ role: "user", content: "You are a fox." } as const];
    const session = await LanguageModel.create({ initialPrompts });
    const kept = session.contextUsage;
    const heard: string[] = [];
    session.oncontextoverflow = () => heard.push("handler");
    session.addEventListener("contextoverflow", ({ type }) => heard.push(type));
    session.onquotaoverflow = null;
    for (let turn = 0; heard.length === 0 && turn < 20; turn++) await session.prompt(story.repeat(3));
    expect(heard).toEqual(["handler", "contextoverflow"]);
    // Seven eighths, and the answer.
    expect(session.contextUsage).toBeLessThanOrEqual((contextLength * 7) / 8 + 12);
    expect(session.contextUsage).toBeGreaterThan(kept);
    // A prompt that fits without all earlier turns fits; the answer is that of a new session with the initial prompts.
    const long = story.repeat(22);
    const fresh = await LanguageModel.create({ initialPrompts });
    expect(await fresh.measureContextUsage(long)).toBeGreaterThan((contextLength * 3) / 4 - kept);
    expect(await session.prompt(long)).toBe(await fresh.prompt(long));
    // What was appended for the next answer is not dropped to make room for it.
    const appended = await LanguageModel.create();
    await appended.append(story.repeat(26));
    expect(appended.contextUsage).toBeGreaterThan((contextLength * 15) / 16 - 12);
    await appended.prompt("More.");
    expect(appended.contextUsage).toBeGreaterThan((contextLength * 15) / 16);
    session.oncontextoverflow = null;
    expect(session.oncontextoverflow).toBeNull();
    const error = await failureOf(session.prompt(story.repeat(100)));
    expect(error).toMatchObject({ name: "QuotaExceededError", quota: contextLength, requested: expect.any(Number) });
    expect((error as unknown as { requested: number }).requested).toBeGreaterThan(contextLength);
    expect(session.contextUsage).toBe(fresh.contextUsage);
    expect(await failureOf(LanguageModel.create({ initialPrompts: [{ role: "user", content: story.repeat(100) }] }))).toMatchObject({
      name: "QuotaExceededError",
      quota: contextLength,
    });
  });

  test("signals end calls, also those that wait, and leave no trace", async () => {
    const session = await LanguageModel.create();
    const running = new AbortController();
    const stream = session.promptStreaming(story, { signal: running.signal });
    const waiting = new AbortController();
    const work = [
      failureOf(session.prompt("More.", { signal: waiting.signal })),
      failureOf(session.append("x", { signal: waiting.signal })),
    ];
    waiting.abort(new Error("no longer needed"));
    expect((await Promise.all(work)).map(({ message }) => message)).toEqual(["no longer needed", "no longer needed"]);
    running.abort();
    expect(await failureOf(textOf(stream))).toMatchObject({ name: "AbortError" });
    const aborted = { signal: AbortSignal.abort() };
    for (const call of [session.prompt(story, aborted), session.measureContextUsage(story, aborted), session.clone(aborted)])
      expect(await failureOf(call)).toMatchObject({ name: "AbortError" });
    await session.promptStreaming(story).cancel();
    const fresh = await LanguageModel.create();
    expect(await session.prompt("More.")).toBe(await fresh.prompt("More."));
  });

  test("a destroyed session ends its calls and refuses others", async () => {
    const session = await LanguageModel.create();
    const calls = [session.prompt(story), textOf(session.promptStreaming(story)), session.append(story)].map(failureOf);
    expect(session.destroy()).toBeUndefined();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ name: "AbortError" });
    const late = [session.prompt(story), textOf(session.promptStreaming(story)), session.append(story), session.measureContextUsage(story)];
    for (const call of [...late, session.clone()]) expect(await failureOf(call)).toMatchObject({ name: "InvalidStateError" });
    session.destroy();
    const controller = new AbortController();
    const other = await LanguageModel.create({ signal: controller.signal });
    const call = failureOf(other.prompt(story));
    controller.abort(new Error("the page is left"));
    expect((await call).message).toBe("the page is left");
    expect(await failureOf(other.prompt(story))).toMatchObject({ name: "InvalidStateError" });
  });
});

test("a clone computes only what is new", async () => {
  await using model = await loadModel(tiny, { runtime: await openRuntime(), contextLength, sequences: 2 });
  const cached: number[] = [];
  const record = (session: Session): Session => {
    const [run, fork] = [session.run.bind(session), session.fork.bind(session)];
    vi.spyOn(session, "fork").mockImplementation(() => record(fork()));
    vi.spyOn(session, "run").mockImplementation(async function* (
      ...given: Parameters<typeof run>
    ): AsyncGenerator<RunPart, void, undefined> {
      for await (const part of run(...given)) {
        if (part.type === "finish") cached.push(part.usage.cachedTokens);
        yield part;
      }
    } as typeof session.run);
    return session;
  };
  const create = model.createSession.bind(model);
  vi.spyOn(model, "createSession").mockImplementation((options) => record(create(options)));
  const LanguageModel = createLanguageModel({ model, defaults: { temperature: 0, maxTokens: 12 } });
  const session = await LanguageModel.create({ initialPrompts: [{ role: "user", content: story.repeat(5) }] });
  const initial = session.contextUsage;
  await session.prompt("Begin.");
  const clone = await session.clone();
  await clone.prompt("More.");
  await session.prompt("Less.");
  expect(cached).toHaveLength(3);
  // The initial prompts were computed by create. What follows them in their rendering is the beginning of an answer.
  expect(cached[0]).toBeGreaterThan(initial - 8);
  for (const tokens of cached.slice(1)) expect(tokens).toBeGreaterThan(initial + 8);
});
