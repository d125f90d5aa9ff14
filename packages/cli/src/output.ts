/** A stream to a person or a program: what `process.stdout` and `process.stderr` are. */
export interface OutputStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** How much a command says besides its result. */
export interface Verbosity {
  /** Nothing but the result and errors. */
  readonly quiet: boolean;
  /** Notes even where stderr is no terminal. */
  readonly verbose: boolean;
}

/**
 * Where commands write: results to stdout, everything else to stderr. Texts come from files, models and servers, so this is the only
 * place that writes them: control characters are made visible before a terminal could obey them.
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

  /** Writes a piece of the result. A pipe or file gets it byte for byte. */
  write(text: string): void {
    this.clearStatus();
    this.#stdout.write(this.#stdout.isTTY === true ? terminalText(text) : text);
  }

  /** Writes a line of the result. */
  print(line: string): void {
    this.write(`${line}\n`);
  }

  /** Writes a line for people about how the work went: on a terminal, or with --verbose. */
  note(line: string): void {
    if (this.#showsNotes) this.#line(line);
  }

  /** Writes a piece of text that is not the result, where notes are shown. */
  aside(text: string): void {
    if (!this.#showsNotes) return;
    this.clearStatus();
    this.#stderr.write(terminalText(text));
  }

  get #showsNotes(): boolean {
    return !this.#verbosity.quiet && (this.#stderr.isTTY === true || this.#verbosity.verbose);
  }

  /** Writes a line that people should see, unless --quiet is given. */
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

  /** Replaces the last line of a terminal's stderr until something else is written. */
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
 * Shows control characters other than tab and line feed as `\x1b`, so that a terminal does not obey them. Invisible characters that format
 * text stay: scripts and emoji need them.
 */
export function terminalText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return text.replace(/\r\n/g, "\n").replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, (control) => {
    return `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}
