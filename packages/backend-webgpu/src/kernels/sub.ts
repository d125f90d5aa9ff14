import type { KernelDefinition } from "../kernel.ts";
import { binary } from "./shared/elementwise.ts";

export const sub: KernelDefinition = binary("-");
