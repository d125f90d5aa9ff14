import { BusyError } from "./errors.ts";
import type { GenerationFinish, GenerationPart } from "./generation.ts";

/** What sessions keep, wherever their model is. */

/** The last part of a generation, in one go. */
export async function finishOf(parts: AsyncIterable<GenerationPart>): Promise<GenerationFinish> {
  let last: GenerationPart | undefined;
  for await (const part of parts) last = part;
  return last as GenerationFinish;
}

/** @throws {BusyError} while a session generates */
export function requireIdle(isGenerating: boolean): void {
  if (!isGenerating) return;
  throw new BusyError("session: expected no generation under way, got one; finish or leave its loop first, or use another session");
}
