import type { Family } from "../family.ts";
import { ernie45 } from "./ernie45.ts";

/** ERNIE 4.5, the mixtures of experts. */
export const ernie45Moe: Family = {
  ...ernie45,
  name: "ernie4_5-moe",
  experts: { normalize: "always", shared: "ifSized" },
};
