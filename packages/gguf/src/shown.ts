import { limits } from "./limits.ts";

/**
 * Returns a name or a value from a file as it may appear in a message or on a terminal: control characters, which would act there, are
 * escaped, and the text is cut after `limit` characters, with its length.
 */
export function shown(text: string, limit = 72): string {
  return text.length <= limit ? escaped(text) : `${escaped(text.slice(0, limit))}… (${text.length} characters)`;
}

/**
 * Returns a path, or the name of a model on a hub, as it may appear in a message: escaped like {@link shown}, but whole, for the reader must act
 * on it. Only a text that no system takes for a path is cut, and keeps its end, the file's name.
 */
export function shownPath(path: string): string {
  return path.length <= limits.pathCharacters ? escaped(path) : `…${escaped(path.slice(-limits.pathCharacters))}`;
}

function escaped(text: string): string {
  return text.replace(/\p{Cc}/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
