/** Cuts pieces: into the matches of a regex and the text between them, or at the ascending offsets that a function returns. */
export type Cutter = RegExp | ((piece: string) => Iterable<number>);

/** UTF-16 units of a text that are cut at a time, unless a piece is longer. */
const usualWindow = 2 ** 16;
/** Maximum length of a piece, and so of a regex match. Matches of millions of units overflow the stack of JavaScript's regexes. */
export const maxPieceLength: number = 2 ** 18;
/** Maximum number of units after a piece that determine where it ends. */
const margin = 64;
/** Units before the end of a window in which a preferred end is searched. */
const searchLength = 4096;

/**
 * Splits a text by cutters in turn. Each one cuts every piece further, so no character is lost. Pieces are never empty. They are yielded in
 * lists, one for each window of the text, so that long texts are not split at once. The pieces do not depend on the windows, except that
 * pieces longer than {@link maxPieceLength} are cut.
 */
export function* preTokenize(text: string, cutters: readonly Cutter[]): Generator<string[]> {
  const [first, ...rest] = cutters;
  for (let start = 0; start < text.length; ) {
    const pieces = first === undefined ? [text.slice(start, windowEnd(text, start + maxPieceLength))] : piecesAt(text, start, first);
    for (const piece of pieces) start += piece.length;
    yield rest.reduce(cutAll, pieces);
  }
}

/** The pieces from `start` on whose ends do not depend on the text after the window. */
function piecesAt(text: string, start: number, cutter: Cutter): string[] {
  for (let size = usualWindow; ; size *= 2) {
    const end = windowEnd(text, start + size);
    const pieces = cutAll([text.slice(start, end)], cutter);
    if (end === text.length) return pieces;
    let pieceEnd = start;
    const certain = pieces.filter((piece) => {
      pieceEnd += piece.length;
      return pieceEnd <= end - margin;
    });
    if (certain.length > 0) return certain;
    if (size >= maxPieceLength) return pieces;
  }
}

/** Preferred ends of windows: before a space between letters, or else where no run of white space or digits is cut. */
const preferredEnds: readonly RegExp[] = [/\p{L}(?=[ \u2581]\p{L})/gu, /[^\p{White_Space}\p{N}](?=\P{White_Space})/gu];

/** The end of a window of a text: the best position up to `limit`. */
export function windowEnd(text: string, limit: number): number {
  if (limit >= text.length) return text.length;
  const start = limit - searchLength;
  for (const goodEnd of preferredEnds) {
    const ends = Array.from(text.slice(start, limit + 2).matchAll(goodEnd), ({ index, 0: { length } }) => index + length);
    const last = ends.findLast((end) => end <= searchLength);
    if (last !== undefined) return start + last;
  }
  return (text.codePointAt(limit - 1) ?? 0) > 0xffff ? limit - 1 : limit;
}

function cutAll(pieces: readonly string[], cutter: Cutter): string[] {
  const finer: string[] = [];
  for (const piece of pieces) {
    if (typeof cutter === "function") cutAt(piece, cutter(piece), finer);
    else cutMatches(piece, cutter, finer);
  }
  return finer;
}

function cutAt(piece: string, offsets: Iterable<number>, out: string[]): void {
  let position = 0;
  for (const offset of offsets) {
    if (offset > position) out.push(piece.slice(position, offset));
    position = offset;
  }
  if (position < piece.length) out.push(position === 0 ? piece : piece.slice(position));
}

/** Uses `exec`, because `matchAll` creates a regex for every piece, and there are as many pieces as words. */
function cutMatches(piece: string, pattern: RegExp, out: string[]): void {
  let position = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(piece); match !== null; match = pattern.exec(piece)) {
    const { index } = match;
    const [{ length }] = match;
    if (index > position) out.push(piece.slice(position, index));
    if (length > 0) out.push(length === piece.length ? piece : match[0]);
    // An empty match must not be found again.
    else pattern.lastIndex = index + characterLength(piece, index);
    position = index + length;
  }
  if (position < piece.length) out.push(position === 0 ? piece : piece.slice(position));
}

function characterLength(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** Runs of digits to cut into groups of three from their ends. Regexes would take quadratic time for this. */
export interface DigitGroups {
  /** Runs of digits. */
  readonly digits: RegExp;
  /** Whether the rest at a run's beginning stays with the text before the run, and the text after the run with its last group. */
  readonly open?: boolean;
}

/** Returns a function that cuts runs of digits. The first group of a run is the short one. */
export function digitGroups({ digits, open = false }: DigitGroups): (piece: string) => Iterable<number> {
  return function* (piece) {
    for (const match of piece.matchAll(digits)) {
      const [run] = match;
      const end = match.index + run.length;
      if (!open) yield match.index;
      const characters = [...run];
      let offset = match.index;
      for (const [i, character] of characters.entries()) {
        if ((characters.length - i) % 3 === 0) yield offset;
        offset += character.length;
      }
      if (!open) yield end;
    }
  };
}
