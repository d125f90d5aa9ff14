/** Returns eight random hexadecimal digits for a unique file name. Unlike `crypto.randomUUID`, this works in pages without HTTPS. */
export function uniqueId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
