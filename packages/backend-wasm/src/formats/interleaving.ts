import type { FormatName } from "./index.ts";

/** Format of a block matrix whose rows are interleaved by eight, or undefined where the bytes are stored as loaded. */
export type Interleaving = FormatName | undefined;
