import { ArgumentError } from "@centella/core";
import type { JsonSchema } from "@centella/grammar";
import {
  callback,
  check,
  checkKeys,
  checkOptions,
  checkValue,
  describe,
  isRecord,
  type Kinds,
  kind,
  list,
  plainData,
  string,
} from "@centella/quant/checks";
import type { StandardSchema } from "../format/schemaTypes.ts";
import { isStandard, jsonSchemaOf } from "../format/standardSchema.ts";

/** A function that a model may call. */
export interface Tool<Input = never> {
  /** Letters, digits, `_`, `-` and `.`: up to 64 of them. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, or a type of a validation library: an object. Default: any object. */
  readonly inputSchema?: JsonSchema | StandardSchema | undefined;
  /** Computes the result of a call in `session.run`: a string, or a value whose JSON is the result. */
  readonly execute?: ((input: Input, context: ToolContext) => unknown) | undefined;
}

/** Second argument of a tool's `execute`. */
export interface ToolContext {
  readonly id: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Whether the model calls tools: "auto" lets it choose, "none" never, "required" always at least one, `{ name }` always this one.
 */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** A finished call. */
export interface ToolCall {
  /** Identifies the call among all of the conversation. The message with its result has it as `tool_call_id`. */
  readonly id: string;
  readonly name: string;
  /** The parsed arguments. */
  readonly arguments: unknown;
}

/** Options of `generate` for tools. */
export interface ToolOptions {
  /** Functions that the model may call. Their names differ. */
  readonly tools?: readonly Tool[] | undefined;
  /** Default: "auto". */
  readonly toolChoice?: ToolChoice | undefined;
  /** Whether one answer may have several calls, where the format has that. Default true. */
  readonly parallelToolCalls?: boolean | undefined;
  /** Whether arguments must be valid under the tool's schema. Otherwise they are any object. Default true. */
  readonly strictTools?: boolean | undefined;
}

/** A tool whose schema is a JSON Schema. */
export interface PlainTool extends Omit<Tool, "inputSchema"> {
  readonly inputSchema?: JsonSchema | undefined;
}

/** Checked options of tools: which of them an answer may call. */
export interface ToolUse {
  /** Tools that the prompt describes. */
  readonly all: readonly PlainTool[];
  /** Tools that may be called. */
  readonly callable: readonly PlainTool[];
  readonly isRequired: boolean;
  readonly isParallel: boolean;
  readonly isStrict: boolean;
}

function isPlainSchema(value: unknown): boolean {
  return typeof value === "boolean" || (isRecord(value) && plainData.accepts(value));
}

const toolKinds: Kinds<Tool> = {
  name: kind("letters, digits, _, - and ., up to 64 of them", (value) => typeof value === "string" && /^[\w.-]{1,64}$/.test(value)),
  description: string,
  inputSchema: kind("a JSON Schema of plain data, or a type of a validation library", (value) => isStandard(value) || isPlainSchema(value)),
  execute: callback,
};

const choiceKind = kind('"auto", "none", "required" or { name }', (value) => ["auto", "none", "required"].includes(value as string));

/**
 * Checks the options for tools.
 * @throws {ArgumentError} for a tool without a name, two of one name, or a choice of a tool that is not there
 */
export function toolUse({ tools = [], toolChoice = "auto", parallelToolCalls = true, strictTools = true }: ToolOptions): ToolUse {
  if (!list.accepts(tools)) throw new ArgumentError("tools", "a list of tools { name, description, inputSchema }", describe(tools));
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    checkTool(`tools[${i}]`, tool);
    if (names.has(tool.name)) throw new ArgumentError("tools", "tools of different names", `two of the name ${tool.name}`);
    names.add(tool.name);
  }
  const isNamed = isRecord(toolChoice);
  if (!isNamed) checkValue("toolChoice", toolChoice, choiceKind);
  if (isNamed) checkKeys("toolChoice", toolChoice, ["name"]);
  const all = tools.map(plainTool);
  const callable = isNamed ? all.filter(({ name }) => name === toolChoice.name) : toolChoice === "none" ? [] : all;
  const needsTools = toolChoice === "required" || isNamed;
  if (needsTools && callable.length === 0)
    throw new ArgumentError("toolChoice", "a tool of the list", isNamed ? describe(toolChoice.name) : "an empty list");
  return { all, callable, isRequired: needsTools, isParallel: parallelToolCalls, isStrict: strictTools };
}

function checkTool(where: string, tool: Tool): void {
  checkOptions(where, tool, toolKinds);
  check(where, "name", tool.name, toolKinds.name);
}

/** A tool whose schema is a JSON Schema. @throws {UnsupportedError | ArgumentError} if a library cannot convert its type to one */
export function plainTool(given: Tool): PlainTool {
  const { inputSchema, ...rest } = given;
  return inputSchema === undefined ? rest : { ...rest, inputSchema: jsonSchemaOf(inputSchema) };
}

/** Tools in the form that chat templates render. */
export function templateTools(tools: readonly PlainTool[]): readonly object[] {
  return tools.map(({ name, description = "", inputSchema = true }) => ({
    type: "function",
    function: { name, description, parameters: isRecord(inputSchema) ? inputSchema : { type: "object", properties: {} } },
  }));
}
