import type { GenerateOptions, Tool, ToolChoice } from "@centella/llm";
import type { BaseChatModelCallOptions, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";

/** Options of the engine that calls, and models as defaults, may have: those of `session.generate` that LangChain has no form of its own for. */
export type EngineOptions = Omit<GenerateOptions, "signal" | "onAbort" | "raw" | "progress" | "partial" | "stop" | "tools" | "toolChoice">;

/** Options of a call. */
export interface CentellaCallOptions extends BaseChatModelCallOptions, EngineOptions {
  /** Functions that the model may call. */
  readonly tools?: readonly BindToolsInput[] | undefined;
}

/** What the engine gets of the options of a model and of a call. */
export function engineOptions(own: EngineOptions, call: CentellaCallOptions, names: readonly string[]): GenerateOptions {
  const given = Object.fromEntries(Object.entries(call).filter(([name, value]) => names.includes(name) && value !== undefined));
  const { tools, tool_choice: choice, stop, signal } = call;
  return {
    ...own,
    ...given,
    ...(stop !== undefined && { stop }),
    ...(signal !== undefined && { signal }),
    ...(tools !== undefined &&
      tools.length > 0 && { tools: tools.map(toolOf), ...(choice !== undefined && { toolChoice: choiceOf(choice) }) }),
  };
}

function toolOf(tool: BindToolsInput): Tool {
  const { name, description, parameters } = convertToOpenAITool(tool).function;
  // The engine's type of schemas is that of schemas in code.
  const inputSchema = parameters as NonNullable<Tool["inputSchema"]> | undefined;
  return { name, ...(description !== undefined && { description }), ...(inputSchema !== undefined && { inputSchema }) };
}

/** LangChain's names: "any" is one of the tools, and any other text the name of a tool. */
function choiceOf(choice: NonNullable<CentellaCallOptions["tool_choice"]>): ToolChoice {
  if (typeof choice !== "string") return { name: String((choice as { function?: { name?: unknown } }).function?.name) };
  if (choice === "any") return "required";
  return choice === "auto" || choice === "none" || choice === "required" ? choice : { name: choice };
}
