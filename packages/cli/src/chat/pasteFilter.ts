import { Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Terminals that are asked to mark pasted text send these around it. */
const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";
/** Asks a terminal to mark pasted text, and not to. */
export const bracketedPaste: { readonly on: string; readonly off: string } = { on: "\x1b[?2004h", off: "\x1b[?2004l" };

/** Visible stand-ins for characters that would end or complete a line while it is edited. */
const lineSymbol = "␤";
const tabSymbol = "␉";

/** A line as it was meant, with line feeds and tabs for their stand-ins. */
export function withPastedLines(line: string): string {
  return line.replaceAll(lineSymbol, "\n").replaceAll(tabSymbol, "\t");
}

const interrupt = "\x03";

/** What {@link PasteFilter} needs of a terminal. */
export interface RawTerminal extends NodeJS.ReadableStream {
  setRawMode(mode: boolean): unknown;
}

/**
 * A terminal's keys on their way to readline. Pasted lines become one line, so that they are one turn. While keys are held, they wait, but for
 * Ctrl-C, which is reported at once.
 */
export class PasteFilter extends Transform {
  readonly isTTY = true;
  readonly #terminal: RawTerminal;
  readonly #decoder = new StringDecoder("utf8");
  #isPasting = false;
  /** The beginning of a mark that may go on in the next chunk. */
  #tail = "";
  #onInterrupt: (() => void) | undefined;
  #held = "";

  constructor(terminal: RawTerminal) {
    super();
    this.#terminal = terminal;
    terminal.pipe(this);
  }

  /** readline switches the terminal's mode through its input. */
  setRawMode(mode: boolean): this {
    this.#terminal.setRawMode(mode);
    return this;
  }

  /** Keeps keys back until {@link release}. */
  hold(onInterrupt: () => void): void {
    this.#onInterrupt = onInterrupt;
  }

  release(): void {
    this.#onInterrupt = undefined;
    if (this.#held !== "") this.push(this.#held);
    this.#held = "";
  }

  detach(): void {
    this.#terminal.unpipe(this);
    this.#terminal.pause();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const keys = this.#joined(this.#tail + this.#decoder.write(chunk));
    if (this.#onInterrupt === undefined) this.push(keys);
    else {
      this.#held += keys.replaceAll(interrupt, "");
      for (const key of keys) if (key === interrupt) this.#onInterrupt?.();
    }
    done();
  }

  /** The keys of `text` with pasted lines joined. */
  #joined(text: string): string {
    let out = "";
    let rest = text;
    for (;;) {
      const mark = this.#isPasting ? pasteEnd : pasteStart;
      const at = rest.indexOf(mark);
      const piece = at < 0 ? rest.slice(0, rest.length - tailLength(rest, mark)) : rest.slice(0, at);
      out += this.#isPasting ? oneLine(piece, at >= 0) : piece;
      if (at < 0) {
        this.#tail = rest.slice(piece.length);
        return out;
      }
      this.#isPasting = !this.#isPasting;
      rest = rest.slice(at + mark.length);
    }
  }
}

/** How many of the last characters may begin a mark. The Escape key alone, and Alt with another, go through. */
function tailLength(text: string, mark: string): number {
  for (let length = mark.length - 1; length > 2; length--) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

function oneLine(pasted: string, isEnd: boolean): string {
  const lines = pasted.replace(/\r\n?|\n/g, lineSymbol).replaceAll("\t", tabSymbol);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  const plain = lines.replace(/[\0-\x1f\x7f-\x9f]/g, "");
  return isEnd ? plain.replace(new RegExp(`${lineSymbol}+$`), "") : plain;
}
