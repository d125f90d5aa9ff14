import { tupleOf } from "@centella/core/backend";
import { conv2d } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../device/capabilities.ts";
import { kernelFrom } from "../wgsl/gpuKernel.ts";
import { convTileFor } from "./conv2d/convForm.ts";
import { convTile } from "./conv2d/convTiles.ts";
import type { KernelOf } from "./shared/kernel.ts";

/** Tiles for calls with enough products, otherwise the kernel that all GPUs share. */
export function conv2dFor(capabilities: Capabilities): KernelOf<"conv2d"> {
  const shared = kernelFrom(conv2d, subgroupLanes(capabilities));
  return {
    dispatches(call, params) {
      const [x, w] = tupleOf(call.inputs, 2);
      const own = { x, w, y: call.output, params };
      const tile = convTileFor(own, capabilities);
      return tile === undefined ? shared.dispatches(call, params) : [convTile(tile, own)];
    },
  };
}
