import { ArgumentError } from "./errors.ts";

/** For callers without types. @throws {ArgumentError} if `options` is no object or has a key that is not among `known` */
export function checkKeys(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || options === null)
    throw new ArgumentError(where, "an options object", String(options), "pass { option: value }");
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new ArgumentError(where, `options among {${known.join(", ")}}`, unknown, "check the spelling");
}
