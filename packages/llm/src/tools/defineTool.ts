import type { JsonSchema } from "@centella/grammar";
import type { SchemaValue, StandardSchema } from "../format/schemaTypes.ts";
import type { Tool, ToolContext } from "./tools.ts";

/** A tool whose `execute` takes what its schema describes. */
export interface ToolDefinition<Schema> extends Omit<Tool, "inputSchema" | "execute"> {
  readonly inputSchema: Schema;
  readonly execute?: (input: SchemaValue<Schema>, context: ToolContext) => unknown;
}

/** Returns a tool. The type of its arguments is inferred from its schema, also from a literal JSON Schema. */
export function tool<const Schema extends JsonSchema | StandardSchema>(definition: ToolDefinition<Schema>): Tool {
  return definition as Tool;
}
