/** A piece of one kind of text. */
export interface TextSpan {
  /** "commentary": what is said to tools, or about what will be done with them. */
  readonly type: "text" | "reasoning" | "commentary";
  readonly text: string;
  /** The tool that a commentary is for. */
  readonly recipient?: string;
  /** Whether it begins a message, of commentaries. */
  readonly isFirst?: boolean;
}

/** Takes a text apart that arrives in pieces. */
export interface TextSplitter {
  push(text: string): TextSpan[];
  /** Ends the text: what could have become markup is none. */
  flush(): TextSpan[];
}

/** Length of the longest end of `text` that begins `tag`. */
export function partialTag(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
