/** Cuts pieces: into the matches of a regex and what lies between them, or at the offsets that a function gives, ascending. */
export type Cutter = RegExp | ((piece: string) => Iterable<number>);

/**
 * Splits a text by cutters in turn: each one cuts every piece further, so that no character is lost. Pieces are never empty.
 */
export function preTokenize(text: string, cutters: readonly Cutter[]): string[] {
  let pieces = text === "" ? [] : [text];
  for (const cutter of cutters) {
    const finer: string[] = [];
    if (typeof cutter === "function") for (const piece of pieces) cutAt(piece, cutter(piece), finer);
    else for (const piece of pieces) cutMatches(piece, cutter, finer);
    pieces = finer;
  }
  return pieces;
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
