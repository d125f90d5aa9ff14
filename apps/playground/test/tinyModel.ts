import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The tiny model of the repository: 2.5 MB. */
export const tinyPath: string = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));
export const tiny: Buffer = readFileSync(tinyPath);
