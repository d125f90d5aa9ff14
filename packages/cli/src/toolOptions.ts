import { readFileSync } from "node:fs";
import type { Tool, ToolChoice, ToolOptions } from "@centella/llm";
import { flag, grouped, type OptionSpec, type OptionValues, text } from "./options.ts";
import { UsageError } from "./usageError.ts";

/** Options for functions that the model may call. */
export type ToolFlags = {
  readonly tools: OptionSpec<string>;
  readonly "tool-choice": OptionSpec<string>;
  readonly "one-call": OptionSpec<true>;
};

/** See {@link ToolFlags}. */
export const toolFlags: ToolFlags = grouped("Tools (calls are printed, not executed)", {
  tools: text("FILE|JSON", "JSON list of functions that the model may call, in the form of OpenAI or of the API"),
  "tool-choice": text("CHOICE", "auto, none, required, or the name of the function to call (default: auto)"),
  "one-call": flag("at most one call in each answer"),
});

/** Returns the given tools as options of the API. A choice may also be one of tools of servers (`--mcp`). @throws {UsageError} for a text that is no list of tools, and a choice without tools */
export function readTools(values: OptionValues<ToolFlags> & { readonly mcp?: string }): ToolOptions {
  const { tools, mcp, "tool-choice": choice, "one-call": isOne } = values;
  if (choice !== undefined && tools === undefined && mcp === undefined)
    throw new UsageError("--tool-choice: expected --tools with it, got none; pass a list of functions or leave out --tool-choice");
  return {
    ...(tools !== undefined && { tools: toolsOf(tools) }),
    ...(choice !== undefined && { toolChoice: choiceOf(choice) }),
    ...(isOne && { parallelToolCalls: false }),
  };
}

function choiceOf(choice: string): ToolChoice {
  return choice === "auto" || choice === "none" || choice === "required" ? choice : { name: choice };
}

const fix = 'pass [{ "name": …, "inputSchema": … }], or a file with such a list';

function toolsOf(given: string): readonly Tool[] {
  const source = /^\s*\[/.test(given) ? given : readFileSync(given, "utf8");
  let list: unknown;
  try {
    list = JSON.parse(source);
  } catch (error) {
    throw new UsageError(`--tools: expected a JSON list of functions, got ${(error as Error).message}; ${fix}`);
  }
  if (!Array.isArray(list)) throw new UsageError(`--tools: expected a JSON list of functions, got another value; ${fix}`);
  return list.map(toolOf);
}

/** A tool in the form of the API, from that of OpenAI or of the API itself, which is checked later. */
function toolOf(given: { readonly function?: { readonly parameters?: unknown; readonly [field: string]: unknown } }): Tool {
  // `generate` checks its form and says what is wrong with it.
  if (given?.function === undefined) return given as unknown as Tool;
  const { name, description, parameters } = given.function;
  return { name, ...(description !== undefined && { description }), ...(parameters !== undefined && { inputSchema: parameters }) } as Tool;
}
