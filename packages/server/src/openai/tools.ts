import type { ToolOptions } from "@centella/llm";
import * as z from "zod/mini";
import { schemaField } from "../generation/format.ts";
import { toolOptions } from "../generation/tools.ts";
import type { BodyOf } from "../http/fields.ts";

/** Fields of a function that the model may call. */
const functionFields = {
  name: z.string(),
  description: z.nullish(z.string()),
  parameters: z.nullish(schemaField),
  strict: z.nullish(z.boolean()),
};
const functionType = z.literal("function", {
  error: ({ input }) => `expected "function", got ${JSON.stringify(input)}; other tools are not supported`,
});
const modes = z.enum(["none", "auto", "required"]);
const isParallel = z.optional(z.boolean());

/** Fields of a chat about tools. */
export const chatToolFields = {
  tools: z.optional(z.array(z.strictObject({ type: functionType, function: z.strictObject(functionFields) }))),
  tool_choice: z.optional(
    z.union([modes, z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: z.string() }) })]),
  ),
  parallel_tool_calls: isParallel,
};

/** Fields of a response about tools, whose functions are not nested. */
export const responseToolFields = {
  tools: z.optional(z.array(z.strictObject({ type: functionType, ...functionFields }))),
  tool_choice: z.optional(z.union([modes, z.strictObject({ type: z.literal("function"), name: z.string() })])),
  parallel_tool_calls: isParallel,
};

/** The engine's options for the tools of a chat. @throws {ApiError} */
export function chatToolOptions({ tools, tool_choice: choice, parallel_tool_calls }: BodyOf<typeof chatToolFields>): ToolOptions {
  return openaiTools(
    tools?.map((tool) => tool.function),
    typeof choice === "object" ? choice.function : choice,
    parallel_tool_calls,
  );
}

/** The engine's options for the tools of a response. @throws {ApiError} */
export function responseToolOptions({ tools, tool_choice: choice, parallel_tool_calls }: BodyOf<typeof responseToolFields>): ToolOptions {
  return openaiTools(tools, typeof choice === "object" ? { name: choice.name } : choice, parallel_tool_calls);
}

type GivenFunction = z.output<z.ZodMiniObject<typeof functionFields>>;

function openaiTools(
  functions: readonly GivenFunction[] | undefined,
  choice: ToolOptions["toolChoice"],
  isParallel: boolean | undefined,
): ToolOptions {
  const tools = functions?.map(({ name, description, parameters: schema, strict }) => ({ name, description, schema, strict }));
  return toolOptions({ tools, choice, isParallel });
}
