/**
 * Splits a text by regexes in turn: each one cuts every piece into its matches and what lies between them, so that no
 * character is lost. Pieces are never empty.
 */
export function preTokenize(text: string, patterns: readonly RegExp[]): string[] {
  let pieces = text === "" ? [] : [text];
  for (const pattern of patterns) {
    const finer: string[] = [];
    for (const piece of pieces) splitPiece(piece, pattern, finer);
    pieces = finer;
  }
  return pieces;
}

function splitPiece(piece: string, pattern: RegExp, out: string[]): void {
  let position = 0;
  for (const match of piece.matchAll(pattern)) {
    if (match.index > position) out.push(piece.slice(position, match.index));
    if (match[0] !== "") out.push(match[0]);
    position = match.index + match[0].length;
  }
  if (position < piece.length) out.push(piece.slice(position));
}
