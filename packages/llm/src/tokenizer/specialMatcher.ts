import type { EncodeOptions } from "./tokenizer.ts";

type ParseSpecial = NonNullable<EncodeOptions["parseSpecial"]>;

/** A token that is matched in the text before ordinary text is encoded. */
export interface SpecialToken {
  readonly id: number;
  readonly text: string;
  /** Whether the token is matched only with `parseSpecial`: control and unknown tokens. User-defined tokens always are. */
  readonly control: boolean;
  /** Whether the token is matched only within the spans of `parseSpecial`, if there are any: markup of conversations. */
  readonly guarded: boolean;
  /** Whether the token includes the white space before it. */
  readonly lstrip: boolean;
  /** Whether the token includes the white space after it. */
  readonly rstrip: boolean;
}

/** A span of text. `id` is the special token that it is, including white space, or -1 for ordinary text. */
export interface Fragment {
  readonly start: number;
  readonly end: number;
  readonly id: number;
}

interface TrieNode {
  token: SpecialToken | undefined;
  next: Map<number, TrieNode> | undefined;
}

const encoder = new TextEncoder();

/**
 * Finds special tokens with llama.cpp's precedence: the longest token (in UTF-8 bytes) is matched first, in the whole text, then the next
 * one. A trie finds the tokens that occur, so the cost does not depend on the number of special tokens in the vocabulary.
 */
export class SpecialMatcher {
  readonly #root: TrieNode = { token: undefined, next: undefined };
  readonly #order = new Map<number, number>();

  constructor(tokens: readonly SpecialToken[]) {
    for (const token of tokens) {
      let node = this.#root;
      for (let i = 0; i < token.text.length; i++) {
        node.next ??= new Map();
        const code = token.text.charCodeAt(i);
        let child = node.next.get(code);
        if (child === undefined) {
          child = { token: undefined, next: undefined };
          node.next.set(code, child);
        }
        node = child;
      }
      node.token = token;
    }
    const byLength = tokens.map((token) => ({ id: token.id, bytes: encoder.encode(token.text).length }));
    byLength.sort((a, b) => b.bytes - a.bytes || a.id - b.id);
    for (const [rank, { id }] of byLength.entries()) this.#order.set(id, rank);
  }

  /** Cuts a text into special tokens and ordinary text, in order, without empty fragments. */
  partition(text: string, parseSpecial: ParseSpecial): Fragment[] {
    const tokens = this.#present(text, parseSpecial !== false);
    if (tokens.length === 0) return text === "" ? [] : [{ start: 0, end: text.length, id: -1 }];

    const taken = new Uint8Array(text.length);
    const matches: Fragment[] = [];
    for (const token of tokens) {
      for (const start of freePositions(text, token.text, taken)) {
        const end = start + token.text.length;
        if (token.guarded && typeof parseSpecial !== "boolean" && !isWithin(start, end, parseSpecial)) continue;
        const match = {
          id: token.id,
          start: token.lstrip ? skipBack(text, start, taken) : start,
          end: token.rstrip ? skip(text, end, taken) : end,
        };
        taken.fill(1, match.start, match.end);
        matches.push(match);
      }
    }
    matches.sort((a, b) => a.start - b.start);

    const fragments: Fragment[] = [];
    let position = 0;
    for (const match of matches) {
      if (match.start > position) fragments.push({ start: position, end: match.start, id: -1 });
      fragments.push(match);
      position = match.end;
    }
    if (position < text.length) fragments.push({ start: position, end: text.length, id: -1 });
    return fragments;
  }

  /** The tokens that occur in the text, in the order in which they are matched. */
  #present(text: string, parseSpecial: boolean): SpecialToken[] {
    const found = new Set<SpecialToken>();
    for (let start = 0; start < text.length; start++) {
      let node = this.#root.next?.get(text.charCodeAt(start));
      for (let end = start + 1; node !== undefined; end++) {
        if (node.token !== undefined && (parseSpecial || !node.token.control)) found.add(node.token);
        node = end < text.length ? node.next?.get(text.charCodeAt(end)) : undefined;
      }
    }
    const orderOf = ({ id }: SpecialToken): number => this.#order.get(id) ?? this.#order.size;
    return [...found].sort((a, b) => orderOf(a) - orderOf(b));
  }
}

/** Positions of `needle` that do not overlap taken text, from left to right. The caller may take each one before it asks for the next. */
function* freePositions(text: string, needle: string, taken: Uint8Array): Generator<number> {
  for (let from = 0; ; from++) {
    while (taken[from]) from++;
    from = text.indexOf(needle, from);
    if (from < 0) return;
    // Tokens that were taken are at least as long, so an overlap always covers one of the two ends.
    if (!taken[from] && !taken[from + needle.length - 1]) yield from;
  }
}

/** Whether one of the spans contains `[start, end)`. */
function isWithin(start: number, end: number, spans: readonly (readonly [number, number])[]): boolean {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.[1] ?? end) < end) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span !== undefined && span[0] <= start;
}

/** Whether a character is white space as in C, which llama.cpp strips. */
function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

function skip(text: string, from: number, taken: Uint8Array): number {
  while (from < text.length && !taken[from] && isSpace(text.charCodeAt(from))) from++;
  return from;
}

function skipBack(text: string, from: number, taken: Uint8Array): number {
  while (from > 0 && !taken[from - 1] && isSpace(text.charCodeAt(from - 1))) from--;
  return from;
}
