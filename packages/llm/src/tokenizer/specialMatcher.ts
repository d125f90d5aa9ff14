/** A token that is matched in the text before any other rule is applied. */
export interface SpecialToken {
  readonly id: number;
  readonly text: string;
  /** Matched only with `parseSpecial`: control and unknown tokens. The others (user-defined) always are. */
  readonly control: boolean;
  /** Whether barriers keep it from matching. */
  readonly guarded: boolean;
  /** Swallows the white space before it. */
  readonly lstrip: boolean;
  /** Swallows the white space after it. */
  readonly rstrip: boolean;
}

/** A stretch of text: `id` is the special token that it is (with the white space that it swallows), or -1 for ordinary text. */
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
 * Finds special tokens with llama.cpp's precedence: the longest token (in UTF-8 bytes) takes all its places in the whole
 * text first, then the next one. A walk through a trie tells which tokens occur, so the cost does not grow with the number
 * of special tokens in the vocabulary.
 */
export class SpecialMatcher {
  readonly #root: TrieNode = { token: undefined, next: undefined };
  /** Proper tails of guarded tokens, by first character: what untrusted text could end a token with. */
  readonly #tails = new Set<string>();
  #longestTail = 0;
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
      if (token.guarded) {
        for (let i = 1; i < token.text.length; i++) this.#tails.add(token.text.slice(i));
        this.#longestTail = Math.max(this.#longestTail, token.text.length - 1);
      }
    }
    const byLength = tokens.map((token) => ({ id: token.id, bytes: encoder.encode(token.text).length }));
    byLength.sort((a, b) => b.bytes - a.bytes || a.id - b.id);
    for (const [rank, { id }] of byLength.entries()) this.#order.set(id, rank);
  }

  /** Cuts a text into special tokens and ordinary text, in order, without empty fragments. */
  partition(text: string, parseSpecial: boolean, barriers: readonly number[]): Fragment[] {
    const tokens = this.#present(text, parseSpecial);
    if (tokens.length === 0) return text === "" ? [] : [{ start: 0, end: text.length, id: -1 }];

    const taken = new Uint8Array(text.length);
    const matches: Fragment[] = [];
    for (const token of tokens) {
      for (const start of freePlaces(text, token.text, taken)) {
        const end = start + token.text.length;
        if (token.guarded && spansBarrier(start, end, barriers)) continue;
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

  /** See `Tokenizer.guardOffsets`. */
  guardOffsets(text: string): number[] {
    const offsets: number[] = [];
    if (this.#completesToken(text)) offsets.push(0);
    for (let start = 0; start < text.length; start++) {
      let node = this.#root.next?.get(text.charCodeAt(start));
      for (let i = start + 1; node !== undefined; i++) {
        const open = i >= text.length && hasGuarded(node);
        if (node.token?.guarded || open) {
          offsets.push(start + 1);
          break;
        }
        node = i < text.length ? node.next?.get(text.charCodeAt(i)) : undefined;
      }
    }
    return offsets;
  }

  #completesToken(text: string): boolean {
    const longest = Math.min(this.#longestTail, text.length);
    for (let length = 1; length <= longest; length++) if (this.#tails.has(text.slice(0, length))) return true;
    return false;
  }

  /** The tokens that occur at all, in the order in which they take their places. */
  #present(text: string, parseSpecial: boolean): SpecialToken[] {
    const found = new Set<SpecialToken>();
    for (let start = 0; start < text.length; start++) {
      let node = this.#root.next?.get(text.charCodeAt(start));
      for (let end = start + 1; node !== undefined; end++) {
        if (node.token !== undefined && (parseSpecial || !node.token.control)) found.add(node.token);
        node = end < text.length ? node.next?.get(text.charCodeAt(end)) : undefined;
      }
    }
    return [...found].sort((a, b) => this.#order.get(a.id)! - this.#order.get(b.id)!);
  }
}

/** Places of `needle` of which nothing is taken, left to right; the caller takes or leaves each before asking for the next. */
function* freePlaces(text: string, needle: string, taken: Uint8Array): Generator<number> {
  for (let from = 0; ; from++) {
    while (taken[from]) from++;
    from = text.indexOf(needle, from);
    if (from < 0) return;
    // Tokens taken so far are at least as long, so an overlap always covers one of the two ends.
    if (!taken[from] && !taken[from + needle.length - 1]) yield from;
  }
}

function spansBarrier(start: number, end: number, barriers: readonly number[]): boolean {
  let low = 0;
  let high = barriers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (barriers[middle]! <= start) low = middle + 1;
    else high = middle;
  }
  return low < barriers.length && barriers[low]! < end;
}

function hasGuarded(node: TrieNode): boolean {
  if (node.token?.guarded) return true;
  for (const child of node.next?.values() ?? []) if (hasGuarded(child)) return true;
  return false;
}

/** White space in C's sense, which is what llama.cpp strips. */
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
