/**
 * Characters that act instead of showing: control characters (C0 and C1), the invisible ones that format text (directions of writing,
 * zero widths), separators of lines and paragraphs, and halves of surrogate pairs.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Text from a file as a message or a terminal may show it: characters that act are written as escapes (`\u001b`). Longer texts are cut
 * after `limit` UTF-16 units and followed by their length.
 */
export function shown(text: string, limit = 72): string {
  const safe = printable(text.slice(0, limit));
  return text.length <= limit ? safe : `${safe}… (${text.length} characters)`;
}

/** The text with characters that act written as escapes. */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

function escaped(character: string): string {
  const digits = character.codePointAt(0)!.toString(16);
  return digits.length > 4 ? `\\u{${digits}}` : `\\u${digits.padStart(4, "0")}`;
}
