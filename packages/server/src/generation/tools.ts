import type { Tool, ToolChoice, ToolOptions } from "@centella/llm";
import { ApiError } from "../errors.ts";
import type { Schema } from "./format.ts";

/** A tool as a client describes it, in any API. */
export interface GivenTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly schema?: Schema | null | undefined;
  /** False: arguments may be any object. */
  readonly strict?: boolean | null | undefined;
}

/** The tools of a request, and how the answer uses them. */
export interface GivenTools {
  readonly tools: readonly GivenTool[] | undefined;
  readonly choice?: ToolChoice | undefined;
  readonly isParallel?: boolean | undefined;
}

/**
 * The engine's options for tools. Arguments are free only if a tool says so.
 * @throws {ApiError} 400 for a choice of a tool that is not there
 */
export function toolOptions({ tools = [], choice, isParallel }: GivenTools): ToolOptions {
  checkChoice(choice, tools);
  if (tools.length === 0) return {};
  return {
    tools: tools.map(toolOf),
    strictTools: tools.every(({ strict }) => strict !== false),
    ...(choice !== undefined && { toolChoice: choice }),
    ...(isParallel !== undefined && { parallelToolCalls: isParallel }),
  };
}

function checkChoice(choice: ToolChoice | undefined, tools: readonly GivenTool[]): void {
  if (choice === undefined || choice === "auto" || choice === "none") return;
  const isThere = choice === "required" ? tools.length > 0 : tools.some(({ name }) => name === choice.name);
  if (isThere) return;
  const expected = choice === "required" ? "a request with tools" : "the name of a tool of the request";
  const got = choice === "required" ? "one without" : JSON.stringify(choice.name);
  throw new ApiError(400, "invalid_value", `tool_choice: expected ${expected}, got ${got}; send the tool in tools`, {
    param: "tool_choice",
  });
}

function toolOf({ name, description, schema }: GivenTool): Tool {
  return {
    name,
    ...(description != null && { description }),
    // `JsonSchema` is the type of schemas that are written in code.
    ...(schema != null && { inputSchema: schema as NonNullable<Tool["inputSchema"]> }),
  };
}
