import type { ArgumentReaders } from "./argumentReader.ts";
import { JsonReader } from "./jsonReader.ts";
import type { ArgumentSyntax } from "./toolFormat.ts";

/** Returns the readers of a syntax. Their code is loaded on demand. */
export async function argumentReaders(syntax: ArgumentSyntax): Promise<ArgumentReaders> {
  if (syntax.kind === "tagged") {
    const { TaggedReader } = await import("./taggedReader.ts");
    return (schema) => new TaggedReader(syntax, schema);
  }
  if (syntax.kind === "notation") {
    const { NotationReader } = await import("./notationReader.ts");
    return () => new NotationReader(syntax);
  }
  return () => new JsonReader();
}
