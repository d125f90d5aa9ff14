/** Cuts pieces: into the matches of a regex and what lies between them, or at the offsets that a function gives, ascending. */
export type Cutter = RegExp | ((piece: string) => Iterable<number>);

/** UTF-16 units of a text that are cut at a time, if pieces end within them. */
const usualWindow = 2 ** 16;
/** Pieces are at most this long, so that no regex matches more: some millions of units overflow the stack of the engine's regexes. */
export const maxPieceLength: number = 2 ** 18;
/** Units after a piece that decide where it ends, at most. */
const margin = 64;
/** Units before the end of a window in which a good end is looked for. */
const searched = 4096;

/**
 * Splits a text by cutters in turn: each one cuts every piece further, so that no character is lost. Pieces are never empty. They come in
 * lists, one for each window of the text, so that long texts need not be split at once. Windows do not show in the pieces, but that those
 * longer than {@link maxPieceLength} are cut.
 */
export function* preTokenize(text: string, cutters: readonly Cutter[]): Generator<string[]> {
  const [first, ...rest] = cutters;
  for (let start = 0; start < text.length; ) {
    const pieces = first === undefined ? [text.slice(start, windowEnd(text, start + maxPieceLength))] : piecesAt(text, start, first);
    for (const piece of pieces) start += piece.length;
    yield rest.reduce(cutAll, pieces);
  }
}

/** The pieces from `start` on whose ends the text after them cannot change any more. */
function piecesAt(text: string, start: number, cutter: Cutter): string[] {
  for (let size = usualWindow; ; size *= 2) {
    const end = windowEnd(text, start + size);
    const pieces = cutAll([text.slice(start, end)], cutter);
    if (end === text.length) return pieces;
    let certain = pieces.length;
    for (let pieceEnd = end; certain > 0 && pieceEnd > end - margin; ) pieceEnd -= pieces[--certain]!.length;
    if (certain > 0) return pieces.slice(0, certain);
    if (size >= maxPieceLength) return pieces;
  }
}

/** Where windows end best: before a space between letters, else where no run of white space or digits is cut. */
const preferredEnds: readonly RegExp[] = [/\p{L}(?=[ \u2581]\p{L})/gu, /[^\p{White_Space}\p{N}](?=\P{White_Space})/gu];

/** The end of a window of a text: the best place up to `limit`. */
export function windowEnd(text: string, limit: number): number {
  if (limit >= text.length) return text.length;
  const start = limit - searched;
  for (const goodEnd of preferredEnds) {
    const ends = Array.from(text.slice(start, limit + 2).matchAll(goodEnd), ({ index, 0: { length } }) => index + length);
    const last = ends.findLast((end) => end <= searched);
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

/** By `exec`: `matchAll` makes a regex for every piece, of which there are as many as words. */
function cutMatches(piece: string, pattern: RegExp, out: string[]): void {
  let position = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(piece); match !== null; match = pattern.exec(piece)) {
    const { index } = match;
    const [{ length }] = match;
    if (index > position) out.push(piece.slice(position, index));
    if (length > 0) out.push(length === piece.length ? piece : match[0]);
    // A place between characters is tried once.
    else pattern.lastIndex = index + characterLength(piece, index);
    position = index + length;
  }
  if (position < piece.length) out.push(position === 0 ? piece : piece.slice(position));
}

function characterLength(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** How runs of digits are cut in threes from their ends: by regexes this would take quadratic time. */
export interface DigitGroups {
  /** Runs of digits. */
  readonly digits: RegExp;
  /** Whether what is left at a run's beginning stays with the text before, and what follows the run with its last group. */
  readonly open?: boolean;
}

/** Cuts such runs; the first group is the short one. */
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
