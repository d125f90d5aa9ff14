import { printable } from "@centella/quant/checks";
import { limits } from "./limits.ts";

export { shown } from "@centella/quant/checks";

/**
 * Returns a path, or the name of a model on a hub, for a message: printable and whole, because users must find the file. Only text that
 * is too long for any system's paths is cut. It keeps its end, the name of the file.
 */
export function shownPath(path: string): string {
  return path.length <= limits.pathCharacters ? printable(path) : `…${printable(path.slice(-limits.pathCharacters))}`;
}
