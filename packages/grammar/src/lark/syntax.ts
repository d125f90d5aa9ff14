/** An item of a rule or terminal, with the index in the source where it starts. */
export type Node = { at: number } & (
  | { kind: "text"; text: string; ignoresCase: boolean }
  | { kind: "range"; first: number; last: number }
  | { kind: "regex"; source: string; flags: string }
  | { kind: "substring"; chunks: readonly string[] }
  | { kind: "json"; schema: unknown }
  | { kind: "name"; name: string }
  | { kind: "sequence" | "choice" | "and"; items: readonly Node[] }
  | { kind: "repeat"; item: Node; min: number; max: number }
  | { kind: "not"; item: Node }
);

/** A rule, which matches lexemes with ignored text between them, or a terminal, which is one lexeme. */
export type Definition = {
  at: number;
  body: Node;
  /** Matches as few bytes as possible. */
  isLazy: boolean;
  /** What follows a lazy match. */
  suffix: Node | undefined;
};

/** A parsed grammar. */
export type LarkSource = {
  rules: ReadonlyMap<string, Definition>;
  terminals: ReadonlyMap<string, Definition>;
  ignored: readonly Node[];
  options: LarkDirective;
};

/** What `%llguidance` sets. */
export type LarkDirective = {
  /** Ignored text is allowed at the beginning. */
  allow_initial_skip: boolean;
  /** Between lexemes, ignored text matches once instead of any number of times. */
  ignore_once: boolean;
};
