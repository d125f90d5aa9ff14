/**
 * Text of the file as it may stand in a message or on a terminal: control characters, which would act there, as escapes, and cut after
 * `limit` characters, saying
 * how many there are.
 */
export function shown(text: string, limit = 72): string {
  const cut = text.length <= limit ? text : text.slice(0, limit);
  const safe = cut.replace(/\p{Cc}/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return text.length <= limit ? safe : `${safe}… (${text.length} characters)`;
}
