/** Reads the arguments of one call from a text that arrives in pieces. */
export interface ArgumentReader {
  /** Adds text. Afterwards the arguments may have ended. */
  push(text: string): ReadArguments;
  /** Ends the text. */
  flush(): ReadArguments;
}

/** What a piece of text adds to the arguments. */
export interface ReadArguments {
  /** Text to append to the arguments, which are JSON as a whole. */
  readonly delta: string;
  /** Text after the arguments, once they have ended. */
  readonly rest?: string;
  /** Whether the text is none of the syntax. `rest` then is where the reader noticed. */
  readonly isBroken?: boolean;
}

/** The schema of a tool's arguments. */
export type ArgumentSchema = Readonly<Record<string, unknown>> | boolean | undefined;
