import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { Document } from "@langchain/core/documents";
import { AIMessage, type AIMessageChunk, HumanMessage, SystemMessage, type ToolMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { familyModel, readFamilyGolden } from "../../llm/test/familyFixture.ts";
import { CentellaEmbeddings, CentellaRerank, ChatCentella, type EngineModel } from "../src/index.ts";
import { openModels } from "./models.ts";

const models = await openModels();
const question = "Tell me a story about a fox.";
const Animal = z.object({ animal: z.enum(["fox", "owl"]) });
const feed = tool(async ({ animal }) => `fed the ${animal}`, { name: "feed", description: "Feeds an animal.", schema: Animal });

describe.each(models)("a model in %s", (_, model) => {
  const chat = new ChatCentella({ model, temperature: 0, maxTokens: 12, maxRetries: 0 });

  test("invoke, stream and batch give the engine's text, with its usage", async () => {
    const own = await model.createSession().complete([{ role: "user", content: question }], { temperature: 0, maxTokens: 12 });
    const whole = await chat.invoke(question);
    expect(whole.content).toBe(own.text);
    expect(whole.usage_metadata).toMatchObject({ input_tokens: own.usage.promptTokens, output_tokens: 12 });
    expect(whole.response_metadata).toMatchObject({ finish_reason: "length", model_provider: "centella", backend: "wasm" });
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await chat.stream(question)) streamed = streamed?.concat(chunk) ?? chunk;
    expect(streamed!.content).toBe(own.text);
    expect(streamed!.usage_metadata).toMatchObject({ input_tokens: own.usage.promptTokens, output_tokens: 12 });
    const all = await chat.batch([question, "Hello!", question]);
    expect([all[0]!.content, all[2]!.content]).toEqual([own.text, own.text]);
  });

  test("options of a call, stop texts and chains", async () => {
    const text = String((await chat.invoke(question, { maxTokens: 20 })).content);
    const word = text.split(" ")[4]!;
    const stopped = await chat.invoke(question, { maxTokens: 20, stop: [word] });
    expect(stopped.response_metadata.finish_reason).toBe("stop");
    expect(text.startsWith(String(stopped.content))).toBe(true);
    const chain = ChatPromptTemplate.fromMessages([
      ["system", "You tell stories."],
      ["human", "Tell me a story about {animal}."],
    ])
      .pipe(chat)
      .pipe(new StringOutputParser());
    const own = [new SystemMessage("You tell stories."), new HumanMessage("Tell me a story about a fox.")];
    expect(await chain.invoke({ animal: "a fox" })).toBe((await chat.invoke(own)).content);
  });

  test("bound tools are called, whole and streamed, and the model goes on with the results", async () => {
    const bound = chat.bindTools([feed], { tool_choice: "any", parallelToolCalls: false, maxTokens: 100 });
    const asked = await bound.invoke(question);
    expect(asked.tool_calls).toMatchObject([{ name: "feed", type: "tool_call", args: { animal: expect.stringMatching(/^(fox|owl)$/) } }]);
    expect(asked.response_metadata.finish_reason).toBe("tool_calls");
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await bound.stream(question)) streamed = streamed?.concat(chunk) ?? chunk;
    expect(streamed!.tool_calls).toMatchObject(asked.tool_calls!.map(({ name, args }) => ({ name, args })));
    const result = (await feed.invoke(asked.tool_calls![0]!)) as ToolMessage;
    const last = await chat.bindTools([feed], { tool_choice: "none" }).invoke([new HumanMessage(question), asked, result]);
    expect(last.content).not.toBe("");
    const named = await chat.bindTools([feed], { tool_choice: "feed", maxTokens: 100, parallelToolCalls: false }).invoke(question);
    expect(named.tool_calls![0]!.name).toBe("feed");
  });

  test("an agent's loop ends when the model calls no more", async () => {
    const messages: (HumanMessage | AIMessage | ToolMessage)[] = [new HumanMessage(question)];
    const fed: string[] = [];
    for (let step = 0; step < 3; step++) {
      const answer = await chat
        .bindTools([feed], { tool_choice: step < 2 ? "any" : "none", parallelToolCalls: false, maxTokens: 100 })
        .invoke(messages);
      messages.push(answer);
      for (const call of answer.tool_calls ?? []) {
        const result = (await feed.invoke(call)) as ToolMessage;
        fed.push(String(result.content));
        messages.push(result);
      }
    }
    expect(fed).toHaveLength(2);
    expect(messages.at(-1)).toBeInstanceOf(AIMessage);
  });

  test("structured output is valid under its schema, of a library or plain, with and without the message", async () => {
    const roomy = new ChatCentella({ model, temperature: 0 });
    expect(Animal.safeParse(await roomy.withStructuredOutput(Animal).invoke(question)).success).toBe(true);
    const plain = z.toJSONSchema(Animal);
    expect(Animal.safeParse(await roomy.withStructuredOutput(plain).invoke(question)).success).toBe(true);
    const { raw, parsed } = await roomy.withStructuredOutput(Animal, { includeRaw: true }).invoke(question);
    expect([JSON.parse(String(raw.content)), raw.response_metadata.complete]).toEqual([parsed, true]);
    // Answers that are cut short are no values.
    await expect(new ChatCentella({ model, maxTokens: 2, maxRetries: 0 }).withStructuredOutput(Animal).invoke(question)).rejects.toThrow();
  });

  test("structured output by a call of a tool, and in the form in which agents ask for it", async () => {
    const roomy = new ChatCentella({ model, temperature: 0, maxTokens: 100 });
    const byTool = await roomy
      .withStructuredOutput(Animal, { method: "functionCalling", name: "animal", includeRaw: true })
      .invoke(question);
    expect(byTool.parsed).toEqual((byTool.raw as AIMessage).tool_calls![0]!.args);
    expect(Animal.safeParse(byTool.parsed).success).toBe(true);
    expect(Animal.safeParse(await roomy.withStructuredOutput(Animal, { method: "functionCalling" }).invoke(question)).success).toBe(true);
    const response_format = { type: "json_schema", json_schema: { name: "animal", schema: z.toJSONSchema(Animal) } } as const;
    const asked = await roomy.bindTools([feed], { tool_choice: "none", response_format }).invoke(question);
    expect(Animal.safeParse(JSON.parse(String(asked.content))).success).toBe(true);
    const plain = await roomy.invoke(question, { response_format: { type: "text" } });
    expect(plain.content).toBe((await roomy.invoke(question)).content);
    expect(roomy.profile).toMatchObject({ structuredOutput: true, toolCalling: true, maxInputTokens: 1024 });
  });

  test("tokens are counted by the model's own tokenizer", async () => {
    const ids = await model.tokenizer.encode(question);
    expect(await chat.getNumTokens(question)).toBe(ids.length);
    expect(await chat.getNumTokens([{ type: "text", text: question }])).toBe(ids.length);
  });

  test("a signal ends the text, and the next call works", async () => {
    const controller = new AbortController();
    const read = async () => {
      for await (const _ of await chat.stream(question, { signal: controller.signal, maxTokens: 500 })) controller.abort();
    };
    await expect(read()).rejects.toThrow(/abort/i);
    expect((await chat.invoke(question)).usage_metadata).toMatchObject({ output_tokens: 12 });
  });

  test("embeddings", async () => {
    const embeddings = new CentellaEmbeddings({ model });
    const own = await model.embed(["a fox", "an owl"]);
    expect(await embeddings.embedDocuments(["a fox", "an owl"])).toEqual(own.map((vector) => [...vector]));
    expect(await embeddings.embedQuery("an owl")).toEqual([...own[1]!]);
    expect(await new CentellaEmbeddings({ model, dimensions: 8 }).embedQuery("a fox")).toHaveLength(8);
  });
});

describe("bad input", () => {
  const [, model] = models[0]!;

  test("pictures, unknown options and options outside their range are refused by name", async () => {
    const chat = new ChatCentella({ model, maxRetries: 0 });
    const picture = new HumanMessage({ content: [{ type: "image_url", image_url: { url: "data:," } }] });
    await expect(chat.invoke([picture])).rejects.toThrow(/content part of type image_url: unsupported/);
    await expect(chat.invoke(question, { temperature: -1 })).rejects.toThrow(/temperature/);
    expect(() => new ChatCentella({ model, topA: 1 } as never)).toThrow(/^ChatCentella: .*got topA/);
  });
});

describe("calls that fail", () => {
  /** A model whose calls fail with errors of these codes, and then work. */
  function failing(...codes: readonly string[]): { readonly model: EngineModel; readonly calls: () => number } {
    let calls = 0;
    const fail = (): void => {
      const code = codes[calls++];
      if (code !== undefined) throw Object.assign(new Error(code), { code });
    };
    const finish = { type: "finish", text: "Hi!", reason: "eos", usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } };
    const generate = async function* () {
      fail();
      yield finish;
    };
    const embed = async () => {
      fail();
      return [[1]];
    };
    return { model: { info: {}, createSession: () => ({ generate }), embed } as never, calls: () => calls };
  }

  test.concurrent.each([
    ["an answer", (model: EngineModel) => new ChatCentella({ model }).invoke("Hi!")],
    ["a stream", async (model: EngineModel) => (await new ChatCentella({ model }).stream("Hi!")).next()],
    ["a vector", (model: EngineModel) => new CentellaEmbeddings({ model }).embedQuery("Hi!")],
  ])("are tried again only after a full queue: %s", async (_, call) => {
    const busy = failing("busy");
    await call(busy.model);
    expect(busy.calls()).toBe(2);
    const wrong = failing("argument", "argument");
    await expect(call(wrong.model)).rejects.toThrow("argument");
    expect(wrong.calls()).toBe(1);
  });
});

test("documents are ranked with llama.cpp's scores", async () => {
  const golden = readFamilyGolden("modern-bert-rank");
  const { query, documents, scores } = golden.ranked!;
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32" });
  const given = documents.map((pageContent, i) => new Document({ pageContent, metadata: { place: i } }));
  const kept = await new CentellaRerank({ model, topN: 2 }).compressDocuments(given, query);
  expect(kept).toHaveLength(2);
  for (const { metadata } of kept) expect(metadata.relevanceScore).toBeCloseTo(scores[metadata.place as number]!, 4);
  expect(await new CentellaRerank({ model }).compressDocuments([], query)).toEqual([]);
});
