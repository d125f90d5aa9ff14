import { fable } from "@centella/model-fable";

/** A model that the user can choose: an address or name, or a file of this machine. */
export type ModelSource = string | File;

/** Address of the embedded model. */
export const embedded: string = fable.href;

/** Name of a source for people. */
export function labelOf(source: ModelSource): string {
  if (typeof source !== "string") return source.name;
  return source.startsWith("hf:") ? source.slice(3) : (source.split(/[?#]/, 1)[0]?.split("/").at(-1) ?? source);
}
