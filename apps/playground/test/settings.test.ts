// Settings of answers: from a link to the engine's options.
import { centellaModel } from "@centella/ai-sdk";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { type GenerateOptions, loadModel, type Model } from "@centella/llm";
import { ToolLoopAgent } from "ai";
import { expect, test } from "vitest";
import { agentSettings, optionNames, textOptions } from "../src/chat/settings.ts";
import { tiny } from "./tinyModel.ts";

/** Settings as the fields have them. The link is what the panel makes of them. */
const typed = {
  system: "Be brief.",
  maxTokens: "3",
  temperature: "0",
  minP: "0.1",
  stop: "The end\n\\n\\n\n",
  logitBias: "12: -1.5\n13\n 14 : 2",
  dryBreakers: ":\n\\n",
  dryMultiplier: "0.5",
  steps: "penalties, dry minP temperature",
};

const link = new URLSearchParams(new URLSearchParams(typed).toString());

/** Options of the generations of a model. */
function watched(model: Model): readonly GenerateOptions[] {
  const seen: GenerateOptions[] = [];
  const create = model.createSession.bind(model);
  model.createSession = (options) => {
    const session = create(options);
    const generate = session.generate.bind(session);
    session.generate = (prompt, given = {}) => {
      seen.push(given);
      return generate(prompt, given);
    };
    return session;
  };
  return seen;
}

test("settings of a link reach the engine", async () => {
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
  await using model = await loadModel(new Uint8Array(tiny), { runtime, contextLength: 256 });
  const seen = watched(model);
  const agent = new ToolLoopAgent({ ...agentSettings(link), model: centellaModel(model) });
  await agent.generate({ prompt: "Hi" });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    maxTokens: 3,
    temperature: 0,
    minP: 0.1,
    stop: ["The end", "\n\n"],
    logitBias: { 12: -1.5, 13: Number.NEGATIVE_INFINITY, 14: 2 },
    dryBreakers: [":", "\n"],
    dryMultiplier: 0.5,
    steps: ["penalties", "dry", "minP", "temperature"],
  });
});

test.each([
  ["logitBias", "x: y"],
  ["dryBreakers", "a text of more than forty characters, which is too long"],
  ["steps", "penalties topQ"],
])("%s that is not understood is refused by the engine, which names it", async (name, value) => {
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
  await using model = await loadModel(new Uint8Array(tiny), { runtime, contextLength: 256 });
  const agent = new ToolLoopAgent({ ...agentSettings(new URLSearchParams({ [name]: value })), model: centellaModel(model) });
  await expect(agent.generate({ prompt: "Hi" })).rejects.toThrow(new RegExp(name));
});

test("every option has a name of its own, and an empty one is left out", () => {
  expect(new Set(optionNames).size).toBe(optionNames.length);
  expect(agentSettings(new URLSearchParams(textOptions.map(({ name }) => [name, " \n"])))).toEqual({
    maxRetries: 0,
    providerOptions: { centella: {} },
  });
});
