import type { Family } from "../../family.ts";
import { bertModel } from "./bert.ts";

/** Nomic Embed 2: BERT with rotary positions, and experts without gates in every other layer. */
export const family: Family = (file) =>
  bertModel(file, { ropeType: "neox", feedForward: { kind: "plain", activation: "gelu" }, experts: {} });
