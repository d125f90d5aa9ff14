/**
 * Characters that are not printable: control characters (C0 and C1), invisible formatting characters (writing direction, zero width),
 * line and paragraph separators, and lone surrogates.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Returns text from a file for a message or a terminal. Characters that are not printable are escaped (`\u001b`). A text of more than
 * `limit` UTF-16 units is cut and followed by its length.
 */
export function shown(text: string, limit = 72): string {
  const safe = printable(text.slice(0, limit));
  return text.length <= limit ? safe : `${safe}… (${text.length} characters)`;
}

/** A size in memory, in units of 1024: `512 bytes`, `5.58 MiB`, `19.5 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = bytes;
  let unit = "bytes";
  for (const next of units) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  return unit === "bytes" ? `${bytes} bytes` : `${size.toFixed(size < 10 ? 2 : 1)} ${unit}`;
}

/** Escapes the characters of a text that are not printable. */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

function escaped(character: string): string {
  const digits = character.codePointAt(0)!.toString(16);
  return digits.length > 4 ? `\\u{${digits}}` : `\\u${digits.padStart(4, "0")}`;
}
