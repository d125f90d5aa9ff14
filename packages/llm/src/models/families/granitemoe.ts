import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";
import { graniteScales } from "./granite.ts";

/** Granite 3 and later, mixtures of experts, with a shared one or without. */
export const family: Family = (file) =>
  transformer(file, {
    ...graniteScales(file),
    ropeType: "norm",
    experts: { normalize: true, shared: file.size("expert_shared_feed_forward_length") === undefined ? undefined : "plain" },
  });
