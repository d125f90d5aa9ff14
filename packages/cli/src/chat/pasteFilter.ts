import { Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Marks around pasted text, sent by terminals in bracketed paste mode. */
const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";
/** Switches the bracketed paste mode of a terminal on and off. */
export const bracketedPaste: { readonly on: string; readonly off: string } = { on: "\x1b[?2004h", off: "\x1b[?2004l" };

/** Visible stand-ins for characters that would submit or complete a line while it is edited. */
const lineSymbol = "␤";
const tabSymbol = "␉";

/** Replaces the stand-ins in a line by the line feeds and tabs that were pasted. */
export function withPastedLines(line: string): string {
  return line.replaceAll(lineSymbol, "\n").replaceAll(tabSymbol, "\t");
}

const interrupt = "\x03";

/** The part of a terminal that {@link PasteFilter} uses. */
export interface RawTerminal extends NodeJS.ReadableStream {
  setRawMode(mode: boolean): unknown;
}

/**
 * Passes keys from a terminal to readline. Pasted lines become one line, so that they are one turn. Keys can be held back; Ctrl-C is
 * then still reported at once.
 */
export class PasteFilter extends Transform {
  readonly isTTY = true;
  readonly #terminal: RawTerminal;
  readonly #decoder = new StringDecoder("utf8");
  #isPasting = false;
  /** The start of a mark that the next chunk may complete. */
  #tail = "";
  #onInterrupt: (() => void) | undefined;
  #isPassing = false;
  #held = "";

  constructor(terminal: RawTerminal) {
    super();
    this.#terminal = terminal;
    terminal.pipe(this);
  }

  /** Called by readline, which switches the terminal's mode through its input. */
  setRawMode(mode: boolean): this {
    this.#terminal.setRawMode(mode);
    return this;
  }

  /** Holds keys back until {@link release}. */
  hold(onInterrupt: () => void): void {
    this.#onInterrupt = onInterrupt;
  }

  /** Passes new keys on while those before them are held. Returns the function that ends this. */
  pass(): () => void {
    this.#isPassing = true;
    return () => {
      this.#isPassing = false;
    };
  }

  /** Reports an interrupt as if Ctrl-C had been pressed while keys are held. */
  interrupt(): void {
    this.#onInterrupt?.();
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
    if (this.#onInterrupt === undefined || this.#isPassing) this.push(keys);
    else {
      this.#held += keys.replaceAll(interrupt, "");
      for (const key of keys) if (key === interrupt) this.#onInterrupt?.();
    }
    done();
  }

  /** Returns `text` with pasted lines joined. */
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

/** Number of characters at the end of `text` that may begin a mark. Escape alone, and Alt with another key, are passed on. */
function tailLength(text: string, mark: string): number {
  for (let length = mark.length - 1; length > 2; length--) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

function oneLine(pasted: string, isEnd: boolean): string {
  const lines = pasted.replace(/\r\n?|\n/g, lineSymbol).replaceAll("\t", tabSymbol);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters
  const plain = lines.replace(/[\0-\x1f\x7f-\x9f]/g, "");
  return isEnd ? plain.replace(new RegExp(`${lineSymbol}+$`), "") : plain;
}
