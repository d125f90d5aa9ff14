/** A stream such as `process.stdout`, read by a person or a program. */
export interface OutputStream {
  readonly isTTY?: boolean;
  write(text: string, onWritten?: (error?: Error | null) => void): unknown;
}

/** Amount of output of a command, apart from its result. */
export interface Verbosity {
  /** Print only the result and errors. */
  readonly quiet: boolean;
  /** Print notes even if stderr is not a terminal. */
  readonly verbose: boolean;
}

/**
 * Output of a command: results go to stdout, everything else to stderr. All text passes through here, because much of it comes from
 * files, models and servers: control characters are escaped before they reach a terminal.
 */
export class Output {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #verbosity: Verbosity;
  #hasStatus = false;

  constructor(stdout: OutputStream, stderr: OutputStream, verbosity: Verbosity) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#verbosity = verbosity;
  }

  /** Writes a piece of the result, unchanged if stdout is not a terminal. */
  write(text: string): void {
    this.clearStatus();
    this.#stdout.write(this.#stdout.isTTY === true ? terminalText(text) : text);
  }

  /** Writes a piece of the result and waits until the reader has taken it. @throws the error of the stream */
  writeWhole(text: string): Promise<void> {
    this.clearStatus();
    return new Promise((resolve, reject) => {
      this.#stdout.write(this.#stdout.isTTY === true ? terminalText(text) : text, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Writes a line of the result. */
  print(line: string): void {
    this.write(`${line}\n`);
  }

  /** Writes a line about how the work went, on a terminal or with --verbose. */
  note(line: string): void {
    if (this.#showsNotes) this.#line(line);
  }

  /** Writes a piece of text that is not part of the result, if notes are shown. */
  aside(text: string): void {
    if (!this.#showsNotes) return;
    this.clearStatus();
    this.#stderr.write(terminalText(text));
  }

  get #showsNotes(): boolean {
    return !this.#verbosity.quiet && (this.#stderr.isTTY === true || this.#verbosity.verbose);
  }

  /** Writes a line unless --quiet is given. */
  warn(line: string): void {
    if (!this.#verbosity.quiet) this.#line(line);
  }

  /** Writes a line about a failure. */
  error(line: string): void {
    this.#line(line);
  }

  /** Whether {@link status} shows anything. */
  get showsStatus(): boolean {
    return this.#stderr.isTTY === true && !this.#verbosity.quiet;
  }

  /** Shows a line on the terminal until anything else is written. */
  status(line: string): void {
    if (!this.showsStatus) return;
    this.#hasStatus = true;
    this.#stderr.write(`\r\x1b[K${terminalText(line)}`);
  }

  clearStatus(): void {
    if (this.#hasStatus) this.#stderr.write("\r\x1b[K");
    this.#hasStatus = false;
  }

  #line(line: string): void {
    this.clearStatus();
    this.#stderr.write(`${terminalText(line)}\n`);
  }
}

/**
 * Escapes control characters other than tab and line feed as `\x1b`, so that a terminal does not obey them. Invisible formatting
 * characters stay, because scripts and emoji need them.
 */
export function terminalText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters
  return text.replace(/\r\n/g, "\n").replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, (control) => {
    return `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}
