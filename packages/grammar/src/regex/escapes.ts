/**
 * Replaces escapes of characters that match `harmless`, which ECMA-262 does not allow, by the escapes of their code points. The bare
 * characters could have a meaning: without its backslash, `{1\,2}` would be a quantifier.
 */
export function withCodePointEscapes(source: string, harmless: RegExp): string {
  return source.replace(/\\(.)/gsu, (pair, escaped: string) =>
    harmless.test(escaped) ? `\\u{${escaped.codePointAt(0)?.toString(16)}}` : pair,
  );
}
