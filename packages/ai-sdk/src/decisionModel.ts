import type {
  Experimental_DecisionModelV4 as DecisionModelV4,
  Experimental_DecisionModelV4CallOptions as DecisionModelV4CallOptions,
  Experimental_DecisionModelV4Question as DecisionModelV4Question,
  Experimental_DecisionModelV4Result as DecisionModelV4Result,
} from "@ai-sdk/provider";
import type { EngineModel } from "@centella/llm/engine";
import { ownOptions } from "./centellaOptions.ts";
import { refuse, withSdkErrors } from "./errors.ts";
import { provider } from "./language/languageModel.ts";
import { adapterOption, type ModelHandle, type Opening, openFor } from "./modelHandle.ts";

type Answer = DecisionModelV4Result["answers"][string];

/** Letters that answers begin with: one for each option of a question. */
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * A model that decides between the options of questions. Each option has a letter, and its probability is that of the letter as the first
 * token of the answer, among all letters. Experimental, as the AI SDK's interface is.
 */
export class CentellaDecisionModel implements DecisionModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = provider;
  readonly modelId: string;
  readonly supportedQuestionTypes = ["choice", "score", "boolean"] as const;
  readonly #handle: ModelHandle;

  constructor(handle: ModelHandle) {
    this.modelId = handle.id;
    this.#handle = handle;
  }

  async doDecide({ state, questions, abortSignal: signal, providerOptions }: DecisionModelV4CallOptions): Promise<DecisionModelV4Result> {
    return withSdkErrors(async () => {
      const { adapter } = ownOptions(providerOptions, []);
      const model = await openFor(this.#handle, { adapter, signal });
      const facts = state.map((part) =>
        part.type === "text" ? part.text : part.type === "json" ? JSON.stringify(part.value) : refuse(part.type, "models read text alone"),
      );
      const answers: Record<string, Answer> = {};
      let [inputTokens, outputTokens] = [0, 0];
      // One after the other: the questions share the state, which is computed once.
      for (const [id, question] of Object.entries(questions)) {
        const options = optionsOf(question);
        const { probabilities, usage } = await probabilitiesOf(model, promptOf(facts, question, options), options.length, {
          adapter,
          signal,
        });
        answers[id] = answerOf(question, options, probabilities);
        inputTokens += usage.promptTokens;
        outputTokens += usage.completionTokens;
      }
      return { answers, usage: { inputTokens, outputTokens }, warnings: [] };
    });
  }
}

interface Option {
  readonly name: string;
  readonly description: string | undefined;
}

function optionsOf(question: DecisionModelV4Question): readonly Option[] {
  const option = (name: string, description: unknown): Option => ({ name, description: textOf(description) });
  const options = ((): readonly Option[] => {
    switch (question.type) {
      case "choice":
        return Object.entries(question.criteria).map(([name, description]) => option(name, description));
      case "score":
        return question.criteria.map((description, level) => option(`level ${level}`, description));
      case "boolean":
        return [option("true", question.criteria?.true), option("false", question.criteria?.false)];
      default:
        return refuse(`question of type ${question.type}`, "it is about a picture, which models do not see");
    }
  })();
  if (options.length > letters.length) refuse(`question with ${options.length} options`, `at most ${letters.length} can be told apart`);
  return options;
}

function promptOf(facts: readonly string[], { instructions }: DecisionModelV4Question, options: readonly Option[]): string {
  const lines = options.map(({ name, description }, i) => `${letters[i]}: ${name}${description === undefined ? "" : ` (${description})`}`);
  const question = textOf(instructions) ?? "Which option is right?";
  return [...facts, "", question, ...lines, "", "Answer with the letter of one option."].join("\n");
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The probabilities of the first letters, among one another, as the first token of the answer to a prompt. */
async function probabilitiesOf(
  model: EngineModel,
  prompt: string,
  count: number,
  { adapter, signal }: Opening,
): Promise<{
  readonly probabilities: readonly number[];
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number };
}> {
  const answers = [...letters].slice(0, count);
  const options = {
    format: { choice: answers },
    maxTokens: 1,
    temperature: 0,
    logprobs: model.info.vocabSize,
    reasoning: { off: true },
    signal,
  };
  const { logprobs = [], usage } = await model.createSession(adapterOption(adapter)).complete(prompt, options);
  const sums = new Map(answers.map((letter) => [letter, 0]));
  // A letter may be the text of several tokens, with and without a space before it.
  const top = logprobs[0]?.top ?? [];
  const texts = await Promise.all(top.map(({ id }) => model.tokenizer.decode([id])));
  top.forEach(({ logprob }, i) => {
    const letter = texts[i]!.trim();
    const sum = sums.get(letter);
    if (sum !== undefined) sums.set(letter, sum + Math.exp(logprob));
  });
  const total = [...sums.values()].reduce((a, b) => a + b, 0);
  return { probabilities: [...sums.values()].map((sum) => (total > 0 ? sum / total : 1 / count)), usage };
}

function answerOf(question: DecisionModelV4Question, options: readonly Option[], probabilities: readonly number[]): Answer {
  if (question.type === "boolean") return { type: "boolean", probability: probabilities[0]! };
  if (question.type === "score") {
    const score = probabilities.reduce((sum, probability, level) => sum + level * probability, 0);
    return { type: "score", score, probabilities: Object.fromEntries(probabilities.map((probability, level) => [level, probability])) };
  }
  const named = options.map(({ name }, i) => [name, probabilities[i]!] as const);
  const [choice] = named.reduce((best, each) => (each[1] > best[1] ? each : best));
  return { type: "choice", choice, probabilities: Object.fromEntries(named) };
}
