import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { terminalText } from "../output.ts";

/** Lines kept from earlier chats. */
const maxLines = 1000;
/** Longer lines are not kept. */
const maxLength = 10_000;
/** Readable by the owner only, because chats are private. */
const fileMode = 0o600;

/** File of the lines typed into chats. If the file cannot be read or written, lines are kept for this process only. */
export class History {
  readonly #path: string;

  constructor(path: string = historyPath()) {
    this.#path = path;
  }

  /** Returns the lines, latest first, as readline expects them. */
  read(): string[] {
    try {
      const lines = readFileSync(this.#path, "utf8")
        .split("\n")
        .filter((line) => line !== "");
      const kept = lines.slice(-maxLines);
      if (lines.length > 2 * maxLines) this.#replace(kept);
      return kept.map(terminalText).reverse();
    } catch {
      return [];
    }
  }

  /** Appends a line. Other chats may append to the same file. */
  add(line: string): void {
    if (line.trim() === "" || line.length > maxLength) return;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, `${line}\n`, { mode: fileMode });
    } catch {
      // A read-only home is no reason to end a chat.
    }
  }

  #replace(lines: readonly string[]): void {
    const partial = `${this.#path}.${process.pid}`;
    writeFileSync(partial, `${lines.join("\n")}\n`, { mode: fileMode });
    renameSync(partial, this.#path);
  }
}

function historyPath(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const windows = process.platform === "win32" ? LOCALAPPDATA : undefined;
  return join(XDG_STATE_HOME || windows || join(homedir(), ".local", "state"), "centella", "history");
}
