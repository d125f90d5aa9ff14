import type { Family } from "../family.ts";
import { hunyuanDense } from "./hunyuanDense.ts";

/** Hunyuan, the mixtures of experts. */
export const hunyuanMoe: Family = {
  ...hunyuanDense,
  name: "hunyuan-moe",
  experts: { normalize: "always", shared: "plain" },
};
