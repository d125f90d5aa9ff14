// The syntax tree of a regular expression of ECMA-262 with flag `u` or `v`.

/** A part of an expression: where it starts, its text, and whether it has an assertion. */
type Part<Type extends string> = { type: Type; start: number; raw: string; asserts: boolean };

export type Alternative = { elements: readonly Element[]; asserts: boolean };
export type Pattern = Part<"Pattern"> & { alternatives: readonly Alternative[] };
/** The flags that a group sets and clears within itself, as letters. */
export type Modifiers = { add: string; remove: string };
export type Group = Part<"Group"> & { alternatives: readonly Alternative[]; modifiers: Modifiers };
export type Quantifier = Part<"Quantifier"> & { element: Element; min: number; max: number; greedy: boolean };
export type Assertion = Part<"Assertion"> & { kind: "start" | "end" | "word"; negate: boolean };

export type Character = Part<"Character"> & { value: number };
export type CharacterSet = Part<"CharacterSet"> & { kind: "any" | "digit" | "space" | "word" | "property"; negate: boolean };
/** `[…]`: the union of its elements. */
export type CharacterClass = Part<"CharacterClass"> & { negate: boolean; elements: readonly ClassElement[] };
export type CharacterRange = Part<"CharacterRange"> & { first: number; last: number };
/** `a&&b` or `a--b`, the only element of its class. */
export type ClassOperation = Part<"ClassOperation"> & { operator: "&&" | "--"; operands: readonly ClassElement[] };
/** `\q{ab|c}`, as code points. */
export type ClassStrings = Part<"ClassStrings"> & { strings: readonly (readonly number[])[] };

export type ClassNode = Character | CharacterSet | CharacterClass;
export type ClassElement = ClassNode | CharacterRange | ClassOperation | ClassStrings;
export type Element = Group | Quantifier | Assertion | ClassNode;
export type Node = Pattern | Element | ClassElement;
