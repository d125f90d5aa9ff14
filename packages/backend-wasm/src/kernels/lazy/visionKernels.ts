import type { Kernels } from "../../kernel.ts";
import { avgPool2d } from "../avgPool2d.ts";
import { batchNorm } from "../batchNorm.ts";
import { conv1d } from "../conv1d.ts";
import { conv2d } from "../conv2d.ts";
import { groupNorm } from "../groupNorm.ts";
import { maxPool2d } from "../maxPool2d.ts";

/** Vision ops. */
export const kernels: Kernels = { avgPool2d, batchNorm, conv1d, conv2d, groupNorm, maxPool2d };
