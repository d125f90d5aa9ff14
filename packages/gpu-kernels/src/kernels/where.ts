import type { GpuKernelOf } from "../kernel.ts";
import { broadcastMap } from "../shared/elementwise.ts";

export const where: GpuKernelOf<"where"> = {
  steps: (call) => [
    broadcastMap(call, ({ k }, [condition, a, b]) =>
      k.select(k.compare("ne", k.loadBits(condition.name, condition.at), 0), k.loadBits(a.name, a.at), k.loadBits(b.name, b.at)),
    ),
  ],
};
