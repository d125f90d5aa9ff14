import type { GenerateOptions, GenerationFinish, GenerationPart, Model, Prompt } from "@centella/llm";
import type { TestModel } from "./serving.ts";

/** An answer of a script. Each text is one token. */
export interface ScriptedAnswer {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
  /** Fails in place of the finish. */
  readonly error?: Error;
}

/** A model with a script's answers, for what no small model writes by itself. */
export interface ScriptedModel {
  readonly model: Model;
  /** The prompts that were answered. */
  readonly prompts: readonly Prompt[];
}

/** The loaded model, except that its texts are those of the script, one after another. */
export function scripted({ model }: TestModel, answers: readonly ScriptedAnswer[]): ScriptedModel {
  const prompts: Prompt[] = [];
  const generate = async function* (prompt: Prompt): AsyncGenerator<GenerationPart, void, undefined> {
    const answer = answers[prompts.length];
    if (answer === undefined) throw new Error(`expected at most ${answers.length} requests, got one more`);
    prompts.push(prompt);
    yield* partsOf(answer);
  };
  return { model: generating(model, generate), prompts };
}

/** The model, except that its sessions generate these parts. */
export function generating(
  model: Model,
  generate: (prompt: Prompt, options: GenerateOptions) => AsyncGenerator<GenerationPart, void, undefined>,
): Model {
  const createSession = (): object => ({ generate });
  return new Proxy(model, {
    get(target, name) {
      const value = name === "createSession" ? createSession : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function* partsOf({ reasoning, text = "", calls = [], error }: ScriptedAnswer): Generator<GenerationPart, void, undefined> {
  yield { type: "prefill", done: 0, total: 4 };
  if (reasoning !== undefined) yield { type: "reasoning", text: reasoning, ids: [1] };
  if (text !== "") yield { type: "text", text, ids: [2] };
  for (const [index, { name, arguments: args }] of calls.entries()) {
    const written = JSON.stringify(args);
    const common = { type: "toolCall" as const, id: `call_${index}`, name, index, ids: [3] };
    yield { ...common, argumentsDelta: written.slice(0, 3), isFirst: true, isLast: false };
    yield { ...common, argumentsDelta: written.slice(3), isFirst: false, isLast: true };
  }
  if (error !== undefined) throw error;
  const tokens = (reasoning === undefined ? 0 : 1) + (text === "" ? 0 : 1) + 2 * calls.length;
  const finish = {
    type: "finish",
    reason: calls.length > 0 ? "toolCalls" : "eos",
    text,
    ids: [],
    promptIds: [],
    seed: 1,
    usage: {
      promptTokens: 4,
      cachedTokens: 3,
      completionTokens: tokens,
      truncatedTokens: 0,
      droppedMessages: 0,
      draftedTokens: 0,
      acceptedTokens: 0,
    },
    timings: { promptMs: 1, decodeMs: 2, timeToFirstTokenMs: 1, promptTokensPerSecond: 1000, decodeTokensPerSecond: 1000 },
    ...(reasoning !== undefined && { reasoning }),
    ...(calls.length > 0 && { toolCalls: calls.map((call, index) => ({ ...call, id: `call_${index}` })) }),
  } as const;
  yield finish as GenerationFinish;
}
