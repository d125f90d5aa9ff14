import { text as readAll } from "node:stream/consumers";
import { UsageError } from "./usageError.ts";

/** The lines of stdin that are not empty. @throws {UsageError} if stdin is a terminal */
export async function linesOfInput(command: string, what: string, place: string): Promise<readonly string[]> {
  if (process.stdin.isTTY) throw new UsageError(`${command}: expected ${what}, got none; give them ${place} or on stdin`);
  return (await readAll(process.stdin)).split(/\r?\n/).filter((line) => line !== "");
}
