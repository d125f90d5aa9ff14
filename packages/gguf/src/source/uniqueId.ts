/** Eight hexadecimal digits for a file name that no other has. Works in pages without https too, unlike `crypto.randomUUID`. */
export function uniqueId(): string {
  return crypto.getRandomValues(new Uint32Array(1))[0]!.toString(16).padStart(8, "0");
}
