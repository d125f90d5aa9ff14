import type { FormatName } from "./index.ts";

/** The format in which a block matrix lies with its rows interleaved by eight, or undefined where bytes lie as they were loaded. */
export type Interleaving = FormatName | undefined;
