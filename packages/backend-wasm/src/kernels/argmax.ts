import type { Kernel } from "../kernel.ts";
import { argExtremum } from "./shared/argExtremum.ts";

export const argmax: Kernel<"argmax"> = argExtremum("argmax");
