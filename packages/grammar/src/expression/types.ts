/** Inclusive range of bytes or code points. */
export type Range = readonly [first: number, last: number];

/** One byte out of sorted, disjoint ranges. */
export interface BytesExpression {
  readonly kind: "bytes";
  readonly isRegular: true;
  readonly ranges: readonly Range[];
}

/** One code point out of sorted, disjoint ranges without surrogates, in UTF-8. */
export interface CodePointsExpression {
  readonly kind: "codePoints";
  readonly isRegular: true;
  readonly ranges: readonly Range[];
}

/** Exactly this text, in UTF-8. The empty text matches nothing but itself. */
export interface TextExpression {
  readonly kind: "text";
  readonly isRegular: true;
  readonly text: string;
}

/** The items one after the other. */
export interface SequenceExpression<Item extends Expression = Expression> {
  readonly kind: "sequence";
  readonly isRegular: boolean;
  readonly items: readonly Item[];
}

/** One of the items. Without items it matches nothing, not even the empty text. */
export interface ChoiceExpression<Item extends Expression = Expression> {
  readonly kind: "choice";
  readonly isRegular: boolean;
  readonly items: readonly Item[];
}

/** The item `min` to `max` times. `max` may be `Infinity`. */
export interface RepeatExpression<Item extends Expression = Expression> {
  readonly kind: "repeat";
  readonly isRegular: boolean;
  readonly item: Item;
  readonly min: number;
  readonly max: number;
}

/** What all items match. */
export interface AndExpression {
  readonly kind: "and";
  readonly isRegular: true;
  readonly items: readonly Regular[];
}

/** All strings of bytes that the item does not match. */
export interface NotExpression {
  readonly kind: "not";
  readonly isRegular: true;
  readonly item: Regular;
}

/** One state of an {@link AutomatonExpression}. */
export interface AutomatonState {
  readonly isAccepting: boolean;
  /** The states after bytes, as disjoint ranges of bytes with the index of a state. No text goes on with any other byte. */
  readonly next: readonly (readonly [first: number, last: number, state: number])[];
}

/** What a deterministic automaton accepts. It starts in the state 0. */
export interface AutomatonExpression {
  readonly kind: "automaton";
  readonly isRegular: true;
  readonly states: readonly AutomatonState[];
}

/** A regular expression that stays a terminal of its own, never merged with its neighbours. */
export interface TerminalExpression {
  readonly kind: "terminal";
  readonly isRegular: false;
  readonly item: Regular;
}

/** What the named rule of the grammar matches. */
export interface ReferenceExpression {
  readonly kind: "reference";
  readonly isRegular: false;
  readonly name: string;
}

/** A regular expression over bytes: immutable data, made by the builders. */
export type Regular =
  | BytesExpression
  | CodePointsExpression
  | TextExpression
  | (SequenceExpression<Regular> & { readonly isRegular: true })
  | (ChoiceExpression<Regular> & { readonly isRegular: true })
  | (RepeatExpression<Regular> & { readonly isRegular: true })
  | AndExpression
  | NotExpression
  | AutomatonExpression;

/**
 * A context-free expression: immutable data, made by the builders. Its largest regular parts become terminals. References and
 * {@link TerminalExpression terminals} bound them.
 */
export type Expression = Regular | SequenceExpression | ChoiceExpression | RepeatExpression | TerminalExpression | ReferenceExpression;

/** A context-free grammar: the texts that `start` matches, with the rules that references name. */
export interface Grammar {
  readonly start: Expression;
  readonly rules: Readonly<Record<string, Expression>>;
}

/** An expression, or a text for exactly that text. */
export type Item = string | Expression;
/** A regular expression, or a text for exactly that text. */
export type RegularItem = string | Regular;
