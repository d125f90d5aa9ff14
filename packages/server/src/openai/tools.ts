import type { ToolChoice, ToolOptions } from "@centella/llm";
import * as z from "zod/mini";
import { schemaField } from "../generation/format.ts";
import { toolOf } from "../generation/tools.ts";
import type { BodyOf } from "../http/fields.ts";

const functionTool = z.strictObject({
  type: z.literal("function", { error: ({ input }) => `expected "function", got ${JSON.stringify(input)}; other tools are not supported` }),
  function: z.strictObject({
    name: z.string(),
    description: z.nullish(z.string()),
    parameters: z.nullish(schemaField),
    strict: z.nullish(z.boolean()),
  }),
});

/** Fields of a chat about tools. */
export const toolFields = {
  tools: z.optional(z.array(functionTool)),
  tool_choice: z.optional(
    z.union([
      z.enum(["none", "auto", "required"]),
      z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: z.string() }) }),
    ]),
  ),
  parallel_tool_calls: z.optional(z.boolean()),
};

/** The engine's options for tools. Arguments are free only if a tool says so. */
export function toolOptions({ tools, tool_choice: choice, parallel_tool_calls: isParallel }: BodyOf<typeof toolFields>): ToolOptions {
  if (tools === undefined || tools.length === 0) return {};
  return {
    tools: tools.map(({ function: { name, description, parameters } }) => toolOf(name, description, parameters)),
    strictTools: tools.every(({ function: { strict } }) => strict !== false),
    ...(choice !== undefined && { toolChoice: choiceOf(choice) }),
    ...(isParallel !== undefined && { parallelToolCalls: isParallel }),
  };
}

function choiceOf(choice: NonNullable<BodyOf<typeof toolFields>["tool_choice"]>): ToolChoice {
  return typeof choice === "string" ? choice : { name: choice.function.name };
}
