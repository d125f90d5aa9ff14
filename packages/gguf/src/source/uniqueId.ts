/** Returns eight random hexadecimal digits for a unique file name. Unlike `crypto.randomUUID`, this works in pages without HTTPS. */
export function uniqueId(): string {
  return crypto.getRandomValues(new Uint32Array(1))[0]!.toString(16).padStart(8, "0");
}
