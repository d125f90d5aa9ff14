import type { Family } from "../../family.ts";
import { hunyuan } from "../hunyuanDense.ts";

/** Hunyuan, mixtures of experts. */
export const family: Family = (file) => hunyuan(file, { ropeType: "neox", experts: { normalize: true, shared: "plain" } });
