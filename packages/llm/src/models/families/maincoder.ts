import type { Family } from "../family.ts";
import { hunyuan } from "./hunyuanDense.ts";

/** Maincoder. */
export const family: Family = (file) => hunyuan(file, { ropeType: "norm" });
