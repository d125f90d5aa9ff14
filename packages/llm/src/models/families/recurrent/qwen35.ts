import { requireRopeSections } from "../../blocks/attention/ropeSections.ts";
import type { Family } from "../../family.ts";
import { qwenNext } from "./qwen3next.ts";

/** Qwen 3.5 and 3.6, dense and mixtures of experts; pictures are not read. */
export const family: Family = (file) => {
  requireRopeSections(file);
  return qwenNext(file, "strided");
};
