import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Nemotron 3 and 4, Minitron. */
export const family: Family = (file) =>
  transformer(file, { norm: "layer", ropeType: "neox", feedForward: { kind: "plain", activation: "squaredRelu" } });
