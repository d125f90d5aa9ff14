import { printable } from "@centella/quant/checks";
import { limits } from "./limits.ts";

export { shown } from "@centella/quant/checks";

/**
 * Returns a path, or the name of a model on a hub, as it may appear in a message: printable, but whole, for the reader must act on it. Only
 * a text that no system takes for a path is cut, and keeps its end, the file's name.
 */
export function shownPath(path: string): string {
  return path.length <= limits.pathCharacters ? printable(path) : `…${printable(path.slice(-limits.pathCharacters))}`;
}
