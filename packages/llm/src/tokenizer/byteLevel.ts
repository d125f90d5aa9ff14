/**
 * GPT-2's reversible mapping of bytes to printable characters, in which byte-level vocabularies are written:
 * printable Latin-1 stands for itself, the other 68 bytes become U+0100, U+0101, … in order.
 */
export const byteToChar: readonly string[] = buildByteToChar();

const charToByte: ReadonlyMap<string, number> = new Map(byteToChar.map((char, byte) => [char, byte]));

const encoder = new TextEncoder();

function buildByteToChar(): string[] {
  const table: string[] = [];
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table.push(String.fromCharCode(printable ? byte : next++));
  }
  return table;
}

/** The UTF-8 bytes of a text, each as its byte-level character. */
export function toByteLevel(text: string): string {
  let out = "";
  for (const byte of encoder.encode(text)) out += byteToChar[byte] ?? "";
  return out;
}

/** The bytes that byte-level characters stand for. A character outside the mapping stands for its own UTF-8. */
export function fromByteLevel(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const char of text) {
    const byte = charToByte.get(char);
    if (byte === undefined) bytes.push(...encoder.encode(char));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
