/** Joins lines to turns: a turn may span lines between `"""` and `"""`, and after lines that end with a backslash. */
export class TurnAssembler {
  #lines: string[] = [];
  #isQuoted = false;

  /** Whether lines wait for the rest of their turn. */
  get isPending(): boolean {
    return this.#isQuoted || this.#lines.length > 0;
  }

  /** Takes a line; returns the turn that it completes, if it does. */
  push(line: string): string | undefined {
    if (this.#isQuoted) return this.#pushQuoted(line);
    if (this.#lines.length === 0 && line.trimStart().startsWith(quote)) {
      this.#isQuoted = true;
      return this.#pushQuoted(line.trimStart().slice(quote.length), true);
    }
    if (line.endsWith("\\")) {
      this.#lines.push(line.slice(0, -1));
      return undefined;
    }
    this.#lines.push(line);
    return this.flush();
  }

  /** Returns what waits, and starts over. */
  flush(): string | undefined {
    const lines = this.#lines;
    this.#lines = [];
    this.#isQuoted = false;
    return lines.length === 0 ? undefined : lines.join("\n");
  }

  #pushQuoted(line: string, isFirst: boolean = false): string | undefined {
    const end = line.trimEnd().endsWith(quote) ? line.trimEnd().slice(0, -quote.length) : undefined;
    const content = end ?? line;
    // Nothing after the opening quotes, or before the closing ones, is no line of the turn.
    if (content !== "" || !(isFirst || end !== undefined)) this.#lines.push(content);
    if (end === undefined) return undefined;
    return this.flush() ?? "";
  }
}

const quote = '"""';
