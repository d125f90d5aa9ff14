import type { Kernels } from "../../kernel.ts";
import { avgPool2d } from "../../kernels/avgPool2d.ts";
import { batchNorm } from "../../kernels/batchNorm.ts";
import { conv1d } from "../../kernels/conv1d.ts";
import { conv2d } from "../../kernels/conv2d.ts";
import { groupNorm } from "../../kernels/groupNorm.ts";
import { maxPool2d } from "../../kernels/maxPool2d.ts";

/** Kernels for images. */
export const kernels: Kernels = { avgPool2d, batchNorm, conv1d, conv2d, groupNorm, maxPool2d };
