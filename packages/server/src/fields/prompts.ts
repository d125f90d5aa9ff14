import type { Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { tokenIds } from "./shared.ts";

/** Most prompts of a request. */
const maxPrompts = 1024;

const promptOrIds = z.union([z.string(), tokenIds]);

/** Texts to continue, as text or token ids. */
export const promptField = z.union([z.string(), tokenIds, z.array(promptOrIds).check(z.minLength(1), z.maxLength(maxPrompts))]);

/** One of them. */
export type GivenPrompt = z.output<typeof promptOrIds>;

/** The prompts of a request. */
export function promptsOf(given: z.output<typeof promptField>): readonly GivenPrompt[] {
  if (typeof given === "string") return [given];
  return given.every((each) => typeof each === "number") ? [given] : (given as readonly GivenPrompt[]);
}

/** A prompt as the engine takes it. */
export function promptOf(given: GivenPrompt): Prompt {
  return typeof given === "string" ? given : { ids: given };
}
