import type { Family } from "../family.ts";
import { lfm2 } from "./lfm2.ts";

/** LFM2, the mixtures of experts: the first blocks are dense, the gates sigmoids. */
export const lfm2moe: Family = {
  ...lfm2,
  name: "lfm2moe",
  experts: { normalize: "always" },
};
