import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOllama, OllamaEmbeddings } from "@langchain/ollama";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createHandler, type Handler } from "../src/index.ts";
import { type ScriptedAnswer, scripted } from "./scriptedModel.ts";
import { fetchFrom, TestModel } from "./serving.ts";

const question = "Tell me a story about a fox.";
const Animal = z.object({ animal: z.enum(["fox", "owl"]) });
const feed = tool(async ({ animal }) => `fed the ${animal}`, { name: "feed", description: "Feeds an animal.", schema: Animal });

const served = await TestModel.forFile();
const handler = served.handler();

const chatOpenAI = (given: Handler): ChatOpenAI =>
  new ChatOpenAI({
    model: "fable",
    apiKey: "none",
    temperature: 0,
    maxTokens: 40,
    maxRetries: 0,
    configuration: { baseURL: "http://localhost/v1", fetch: fetchFrom(given) },
  });
const chatOllama = (given: Handler): ChatOllama =>
  new ChatOllama({ model: "fable", temperature: 0, numPredict: 40, maxRetries: 0, fetch: fetchFrom(given) });

/** A handler whose model gives these answers. */
const scriptedHandler = (answers: readonly ScriptedAnswer[]): Handler =>
  createHandler({ models: { fable: scripted(served, answers).model } });

const clients = { "@langchain/openai": chatOpenAI, "@langchain/ollama": chatOllama };

test.each(Object.entries(clients))("%s: texts, whole and streamed, with their usage", async (_, chat) => {
  const own = await served.model.createSession().complete([{ role: "user", content: question }], { maxTokens: 40, temperature: 0 });
  const whole = await chat(handler).invoke(question);
  expect(whole.content).toBe(own.text);
  expect(whole.usage_metadata).toMatchObject({ input_tokens: own.usage.promptTokens, output_tokens: 40 });
  let text = "";
  for await (const chunk of await chat(handler).stream(question)) text += chunk.content;
  expect(text).toBe(own.text);
});

test.each(Object.entries(clients))("%s: objects", async (_, chat) => {
  const answer = await chat(handler).withStructuredOutput(Animal, { name: "choice", method: "jsonSchema" }).invoke(question);
  expect(Animal.safeParse(answer).success).toBe(true);
});

test.each(Object.entries(clients))("%s: a loop of tools, whole and streamed", async (_, chat) => {
  const fed = { calls: [{ name: "feed", arguments: { animal: "owl" } }] };
  const looping = scriptedHandler([fed, fed, { text: "The owl is full." }]);
  const model = chat(looping).bindTools([feed]);
  const asked = await model.invoke(question);
  expect(asked.tool_calls).toMatchObject([{ name: "feed", args: { animal: "owl" } }]);
  let streamed: AIMessage | undefined;
  for await (const chunk of await model.stream(question))
    streamed = streamed === undefined ? chunk : (streamed as typeof chunk).concat(chunk);
  expect(streamed!.tool_calls).toMatchObject(asked.tool_calls!.map(({ name, args }) => ({ name, args })));
  const [call] = asked.tool_calls!;
  const content = await feed.invoke({ animal: call!.args.animal as "owl" });
  const result = new ToolMessage({ content, tool_call_id: call!.id!, name: "feed" });
  const last = await model.invoke([new HumanMessage(question), new AIMessage({ content: "", tool_calls: asked.tool_calls! }), result]);
  expect(last.content).toBe("The owl is full.");
  await looping.close();
});

test("embeddings", async () => {
  const [own] = await served.model.embed(["a fox"]);
  const fetch = fetchFrom(handler);
  const openai = new OpenAIEmbeddings({ model: "fable", apiKey: "none", configuration: { baseURL: "http://localhost/v1", fetch } });
  expect((await openai.embedQuery("a fox")).map(Math.fround)).toEqual([...own!]);
  const ollama = new OllamaEmbeddings({ model: "fable", fetch });
  expect(await ollama.embedDocuments(["an owl", "a fox"])).toEqual([expect.anything(), [...own!]]);
});
