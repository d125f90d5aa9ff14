/** Joins lines into turns. A turn spans several lines between `"""` and `"""`, or if a line ends with a backslash. */
export class TurnAssembler {
  #lines: string[] = [];
  #isQuoted = false;

  /** Whether a turn has begun and is not complete. */
  get isPending(): boolean {
    return this.#isQuoted || this.#lines.length > 0;
  }

  /** Adds a line. Returns the turn if the line completes it. */
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

  /** Returns the incomplete turn, if any, and starts over. */
  flush(): string | undefined {
    const lines = this.#lines;
    this.#lines = [];
    this.#isQuoted = false;
    return lines.length === 0 ? undefined : lines.join("\n");
  }

  #pushQuoted(line: string, isFirst: boolean = false): string | undefined {
    const end = line.trimEnd().endsWith(quote) ? line.trimEnd().slice(0, -quote.length) : undefined;
    const content = end ?? line;
    // An empty rest of the line with the opening or closing quotes is not a line of the turn.
    if (content !== "" || !(isFirst || end !== undefined)) this.#lines.push(content);
    if (end === undefined) return undefined;
    return this.flush() ?? "";
  }
}

const quote = '"""';
