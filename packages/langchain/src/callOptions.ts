import type { GenerateOptions, Tool, ToolChoice } from "@centella/llm";
import { generateOptionNames } from "@centella/llm/engine";
import type { BaseChatModelCallOptions, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";

/** Options that LangChain has by other names, or that the adapter sets itself. */
const ownedNames = ["signal", "onAbort", "raw", "progress", "partial", "stop", "tools", "toolChoice"] as const;

/** Options of the engine that calls, and models as defaults, may have: those of `session.generate` that LangChain has no form of its own for. */
export type EngineOptions = Omit<GenerateOptions, (typeof ownedNames)[number]>;

/** Names of {@link EngineOptions}. */
export const engineOptionNames: readonly string[] = generateOptionNames.filter((name) => !(ownedNames as readonly string[]).includes(name));

/** Options of a call. */
export interface CentellaCallOptions extends BaseChatModelCallOptions, EngineOptions {
  /** Functions that the model may call. */
  readonly tools?: readonly BindToolsInput[] | undefined;
  /** What the answer must be, in the form in which agents of LangChain ask for it. The option `format` takes precedence. */
  readonly response_format?: ResponseFormat | undefined;
}

/** Format of an answer in OpenAI's form. */
export type ResponseFormat =
  | { readonly type: "text" | "json_object" }
  | { readonly type: "json_schema"; readonly json_schema: { readonly schema?: object | undefined } };

/** What the engine gets of the options of a model and of a call. */
export function engineOptions(own: EngineOptions, call: CentellaCallOptions): GenerateOptions {
  const given = pickEngineOptions(call);
  const { tools, tool_choice: choice, stop, signal, response_format: response } = call;
  const format = response && formatOf(response);
  return {
    ...own,
    ...(format !== undefined && { format }),
    ...given,
    ...(stop !== undefined && { stop }),
    ...(signal !== undefined && { signal }),
    ...(tools !== undefined &&
      tools.length > 0 && { tools: tools.map(toolOf), ...(choice !== undefined && { toolChoice: choiceOf(choice) }) }),
  };
}

function formatOf(format: ResponseFormat): EngineOptions["format"] {
  if (format.type === "text") return undefined;
  const schema = format.type === "json_schema" ? format.json_schema.schema : undefined;
  return schema === undefined ? "json" : ({ schema } as EngineOptions["format"]);
}

/** The options of the engine among others. */
export function pickEngineOptions(options: object): EngineOptions {
  return Object.fromEntries(Object.entries(options).filter(([name, value]) => engineOptionNames.includes(name) && value !== undefined));
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
