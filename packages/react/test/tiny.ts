import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The embedded test model. */
export const tiny: Uint8Array = readFileSync(join(import.meta.dirname, "../../model-fable/models/fable-tiny-q8_0.gguf"));
