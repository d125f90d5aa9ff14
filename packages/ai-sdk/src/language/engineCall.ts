import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, SharedV4Warning } from "@ai-sdk/provider";
import type { ChatMessage, GenerateOptions, ReasoningOptions, Tool } from "@centella/llm";
import { centellaOptions, type GenerationDefaults } from "../centellaOptions.ts";
import { refuse } from "../errors.ts";
import { chatMessages } from "./messages.ts";

/** A call of the AI SDK in the engine's terms. */
export interface EngineCall {
  readonly prompt: readonly ChatMessage[];
  readonly options: GenerateOptions;
  /** Name of the adapter, if the call chooses one. */
  readonly adapter: string | undefined;
  /** Ways to do what `reasoning` asks for, the best first: which of them a model knows is found out by trying. */
  readonly reasoning: readonly ReasoningOptions[];
  readonly warnings: readonly SharedV4Warning[];
}

/**
 * Translates a call.
 * @throws {UnsupportedFunctionalityError | ArgumentError} for what the engine cannot do, or what is unknown to it
 */
export function engineCall(call: LanguageModelV4CallOptions, defaults: GenerationDefaults): EngineCall {
  const { adapter, ...own } = centellaOptions(call.providerOptions);
  const { tools, warnings } = toolsOf(call);
  const format = own.format ?? formatOf(call);
  return {
    prompt: chatMessages(call.prompt),
    options: {
      ...defaults,
      ...given(call),
      ...own,
      ...tools,
      ...(format !== undefined && { format }),
      progress: true,
      signal: call.abortSignal,
    },
    adapter,
    reasoning: own.reasoning === undefined ? reasoningOf(call.reasoning) : [],
    warnings,
  };
}

/** The sampling options that a call gives. */
function given(call: LanguageModelV4CallOptions): GenerateOptions {
  const { maxOutputTokens: maxTokens, temperature, topP, topK, presencePenalty, frequencyPenalty, stopSequences: stop, seed } = call;
  const options = { maxTokens, temperature, topP, topK, presencePenalty, frequencyPenalty, stop, seed };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function formatOf({ responseFormat }: LanguageModelV4CallOptions): GenerateOptions["format"] {
  if (responseFormat?.type !== "json") return undefined;
  const { schema } = responseFormat;
  return schema === undefined ? "json" : { schema: schema as JsonSchema };
}

/** The engine's type of JSON Schemas, which the SDK types in a way of its own. */
type JsonSchema = NonNullable<Exclude<Tool["inputSchema"], { readonly "~standard": unknown }>>;

function toolsOf({ tools = [], toolChoice }: LanguageModelV4CallOptions): {
  readonly tools: GenerateOptions;
  readonly warnings: readonly SharedV4Warning[];
} {
  if (tools.length === 0) return { tools: {}, warnings: [] };
  const functions = tools.map((tool) => (tool.type === "function" ? tool : refuse(`tool ${tool.id}`, "only functions can be called")));
  const name = toolChoice?.type === "tool" ? toolChoice.toolName : undefined;
  if (name !== undefined && !functions.some((tool) => tool.name === name)) {
    refuse(`toolChoice ${name}`, `there is no such tool; choose one of ${functions.map((tool) => tool.name).join(", ")}`);
  }
  const warnings = functions
    .filter(({ inputExamples }) => inputExamples !== undefined)
    .map((tool): SharedV4Warning => {
      return { type: "unsupported", feature: `inputExamples of tool ${tool.name}`, details: "chat templates have no place for them" };
    });
  // Strictness is one option for all tools of an answer.
  const isLoose = functions.some(({ strict }) => strict === false);
  return {
    tools: {
      tools: functions.map(toolOf),
      ...(toolChoice !== undefined && { toolChoice: toolChoice.type === "tool" ? { name: toolChoice.toolName } : toolChoice.type }),
      ...(isLoose && { strictTools: false }),
    },
    warnings,
  };
}

function toolOf({ name, description, inputSchema }: LanguageModelV4FunctionTool): Tool {
  return { name, ...(description !== undefined && { description }), inputSchema: inputSchema as JsonSchema };
}

type Level = NonNullable<LanguageModelV4CallOptions["reasoning"]>;

/** For each level the name that chat templates have for it, and the most tokens of reasoning where templates have no names. */
const levels: Readonly<Record<Exclude<Level, "provider-default" | "none">, { readonly effort: string; readonly budget: number }>> = {
  minimal: { effort: "low", budget: 256 },
  low: { effort: "low", budget: 1024 },
  medium: { effort: "medium", budget: 4096 },
  high: { effort: "high", budget: 16_384 },
  xhigh: { effort: "high", budget: 65_536 },
  max: { effort: "high", budget: Number.MAX_SAFE_INTEGER },
};

function reasoningOf(level: Level = "provider-default"): readonly ReasoningOptions[] {
  if (level === "provider-default") return [];
  if (level === "none") return [{ off: true }];
  const { effort, budget } = levels[level];
  return [{ effort }, { budget }];
}
