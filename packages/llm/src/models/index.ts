import { UnsupportedArchitectureError } from "../errors.ts";
import type { Architecture } from "../recording.ts";
import { llama } from "./llama.ts";

const architectures: readonly Architecture[] = [llama];

/** Names of the model families that can be loaded, as `general.architecture` spells them. */
export const supportedArchitectures: readonly string[] = architectures.map(({ name }) => name);

/** @throws {UnsupportedArchitectureError} */
export function architectureByName(name: string): Architecture {
  const found = architectures.find((architecture) => architecture.name === name);
  if (found === undefined) throw new UnsupportedArchitectureError(name, supportedArchitectures);
  return found;
}
