/** A piece of text of one type. */
export interface TextSpan {
  /** "commentary": messages to tools, or about the use of tools. */
  readonly type: "text" | "reasoning" | "commentary";
  readonly text: string;
  /** The tool that a commentary is addressed to. */
  readonly recipient?: string;
  /** Whether a commentary's span begins a message. */
  readonly isFirst?: boolean;
}

/** Separates the answer, the reasoning and messages to tools in a text that arrives in pieces. */
export interface TextSplitter {
  push(text: string): TextSpan[];
  /** Ends the text. Withheld text that could have become markup is returned as text. */
  flush(): TextSpan[];
}

/** Length of the longest suffix of `text` that is a proper prefix of `tag`. */
export function partialTag(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
