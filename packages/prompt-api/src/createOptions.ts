import type { Tool } from "@centella/llm";
import { describe, isRecord } from "@centella/quant/checks";
import { type Conversation, withMessages } from "./conversation.ts";
import { readInput } from "./messages.ts";
import { readSampling, type Sampling } from "./sampling.ts";
import type { CreateCoreOptions, CreateOptions, Expected } from "./types.ts";

/** Checked options of a session. */
export interface SessionPlan {
  readonly sampling: Sampling;
  readonly tools: readonly Tool[];
  /** What the model cannot do of what is expected of it; undefined if it can do everything. */
  readonly unsupported: string | undefined;
}

type Direction = "expectedInputs" | "expectedOutputs";

const contentTypes: readonly unknown[] = ["text", "image", "audio", "tool-call", "tool-response"];

/** What models read and write. */
const supportedTypes: Readonly<Record<Direction, readonly string[]>> = {
  expectedInputs: ["text", "tool-response"],
  expectedOutputs: ["text", "tool-call"],
};

/**
 * Checks the options of a session.
 * @param languages tags of the languages that the model knows; undefined for any
 * @throws {TypeError} for options of another form; {RangeError} for sampling values out of range and malformed language tags
 */
export function readPlan(options: CreateCoreOptions, languages: readonly string[] | undefined): SessionPlan {
  if (!isRecord(options)) throw new TypeError(`create: expected an object of options, got ${describe(options)}`);
  const checked = options as CreateCoreOptions;
  const sampling = readSampling(checked);
  const unsupported = [...missing("expectedInputs", checked, languages), ...missing("expectedOutputs", checked, languages)];
  return { sampling, tools: listOf("tools", checked.tools).map(readTool), unsupported: unsupported[0] };
}

/** The conversation that a session begins with. @throws as {@link readInput} */
export function readInitialPrompts({ initialPrompts }: CreateOptions): Conversation {
  const initial = listOf("initialPrompts", initialPrompts);
  const { kept, turns } = withMessages({ kept: [], turns: [] }, initial.length === 0 ? [] : readInput("initialPrompts", initial).messages);
  return { kept: [...kept, ...turns], turns: [] };
}

function* missing(direction: Direction, options: CreateCoreOptions, known: readonly string[] | undefined): Generator<string> {
  for (const [i, expected] of listOf(direction, options[direction]).entries()) {
    const { type, languages } = checkExpected(`${direction}[${i}]`, expected);
    if (!supportedTypes[direction].includes(type)) yield `${direction}: the type "${type}" is not supported`;
    const tags = Intl.getCanonicalLocales(languages);
    const unknown = known && tags.find((tag) => !Intl.getCanonicalLocales(known).some((own) => tag === own || tag.startsWith(`${own}-`)));
    if (unknown !== undefined) yield `${direction}: the language ${unknown} is not supported`;
  }
}

function checkExpected(where: string, expected: unknown): { readonly type: string; readonly languages: string[] } {
  const { type, languages } = (isRecord(expected) ? expected : {}) as Partial<Expected>;
  if (type === undefined || !contentTypes.includes(type))
    throw new TypeError(`${where}: expected { type, languages } with a type of ${contentTypes.join(", ")}, got ${describe(expected)}`);
  return { type, languages: [...listOf(`${where}.languages`, languages)] };
}

function readTool(tool: unknown, i: number): Tool<unknown> {
  const { name, description, inputSchema, execute } = isRecord(tool) ? tool : {};
  if (typeof name === "string" && typeof description === "string" && isRecord(inputSchema) && typeof execute === "function")
    return { name, description, inputSchema, execute: async (input) => String(await execute(input)) };
  throw new TypeError(`tools[${i}]: expected { name, description, inputSchema, execute }, got ${describe(tool)}`);
}

function listOf<T>(where: string, list: readonly T[] | undefined): readonly T[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new TypeError(`${where}: expected a list, got ${describe(list)}`);
  return list;
}
