import { UsageError } from "../usageError.ts";
import type { BatchRequest } from "./batchRequest.ts";

/** Numbers of the lines that have an answer, in four bytes each. */
export class AnsweredLines {
  /** A hash of the `custom_id` for each answered line, and 0 for the others. */
  #hashes = new Uint32Array(1024);

  add(line: number, customId: string): void {
    if (line >= this.#hashes.length) {
      const grown = new Uint32Array(2 * line);
      grown.set(this.#hashes);
      this.#hashes = grown;
    }
    this.#hashes[line] = hashOf(customId);
  }

  /** Whether the request has an answer. @throws {UsageError} if the answer of its line belongs to another request */
  has({ line, customId }: Pick<BatchRequest, "line" | "customId">): boolean {
    const hash = this.#hashes[line] ?? 0;
    if (hash === 0) return false;
    if (hash === hashOf(customId)) return true;
    throw new UsageError(`--resume: expected results of this input, but those of line ${line} have another custom_id; remove them`);
  }
}

/** FNV-1a, never 0. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0 || 1;
}
