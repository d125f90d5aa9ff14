import type { Tool } from "@centella/llm";
import type { Schema } from "./format.ts";

/** A tool that a client describes. */
export function toolOf(name: string, description: string | null | undefined, schema: Schema | null | undefined): Tool {
  return {
    name,
    ...(description != null && { description }),
    // `JsonSchema` is the type of schemas that are written in code.
    ...(schema != null && { inputSchema: schema as NonNullable<Tool["inputSchema"]> }),
  };
}
