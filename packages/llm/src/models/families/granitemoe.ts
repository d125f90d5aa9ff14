import type { Family } from "../family.ts";
import { granite } from "./granite.ts";

/** Granite 3, the mixtures of experts. */
export const granitemoe: Family = { ...granite, name: "granitemoe" };
