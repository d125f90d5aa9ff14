import type { Family } from "../family.ts";
import { hunyuan } from "./hunyuanDense.ts";

/** Hunyuan for pictures, its text part: a text's tokens have one position on all axes, and the base grows by a factor that the file states. */
export const family: Family = (file) => {
  const alpha = file.positive("rope.scaling.alpha") ?? 1;
  return hunyuan(file, { ropeType: "neox", baseFactor: (size) => alpha ** (size / (size - 2)) });
};
