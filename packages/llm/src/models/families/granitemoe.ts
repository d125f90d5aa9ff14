import type { Family } from "../family.ts";
import { granite } from "./granite.ts";

/** Granite 3 and later, the mixtures of experts, with a shared one or without. */
export const granitemoe: Family = {
  ...granite,
  name: "granitemoe",
  positions: { pairing: "interleaved" },
  experts: { normalize: "always", shared: "ifSized" },
};
