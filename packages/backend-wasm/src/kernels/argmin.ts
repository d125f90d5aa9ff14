import type { Kernel } from "../kernel.ts";
import { argExtremum } from "./shared/argExtremum.ts";

export const argmin: Kernel<"argmax"> = argExtremum("argmin");
