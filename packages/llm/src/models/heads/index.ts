import type { HeadFamily } from "./head.ts";

/** Loaders of the families of heads, which draft for another model by its hidden states, by `general.architecture`. */
export const heads: Readonly<Record<string, () => Promise<{ readonly head: HeadFamily }>>> = {
  dflash: () => import("./dflash.ts"),
  eagle3: () => import("./eagle3.ts"),
  "gemma4-assistant": () => import("./gemma4Assistant.ts"),
};
