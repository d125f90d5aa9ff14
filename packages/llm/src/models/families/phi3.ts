import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Phi 3, 3.5 and 4. Like llama.cpp, this ignores the windows that some files name: the files name them wrongly. */
export const family: Family = (file) => transformer(file, { ropeType: "neox", feedForward: { kind: "fusedGate" } });
