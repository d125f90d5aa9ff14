import type { Kernel } from "../kernel.ts";
import { tanh as tanhVector } from "../math/tanh.ts";
import { unary } from "./shared/unary.ts";

export const tanh: Kernel = unary("tanh", [], tanhVector);
