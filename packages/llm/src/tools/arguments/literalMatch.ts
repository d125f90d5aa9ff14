/** How the beginning of a text compares with a literal, white space aside. */
export interface LiteralMatch {
  readonly kind: "match" | "partial" | "none";
  /** Length of the text that matches. */
  readonly length: number;
}

const isSpace = /\s/;

/** Compares the beginning of `text` with `literal`. White space may differ; what follows the literal's last other character is left alone. */
export function matchLiteral(text: string, literal: string): LiteralMatch {
  let at = 0;
  for (const character of literal) {
    if (isSpace.test(character)) continue;
    while (at < text.length && isSpace.test(text[at] as string)) at++;
    if (at === text.length) return { kind: "partial", length: at };
    if (!text.startsWith(character, at)) return { kind: text.length - at < character.length ? "partial" : "none", length: at };
    at += character.length;
  }
  return { kind: "match", length: at };
}
