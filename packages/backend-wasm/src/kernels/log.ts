import type { Kernel } from "../kernel.ts";
import { log as logVector } from "../math/log.ts";
import { unary } from "./shared/unary.ts";

export const log: Kernel = unary("log", [], logVector);
