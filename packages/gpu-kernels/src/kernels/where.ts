import type { GpuKernel } from "../kernel.ts";
import { broadcastMap } from "../shared/elementwise.ts";

export const where: GpuKernel = {
  steps: (call) => [
    broadcastMap(call, ({ k }, [condition, a, b], at) =>
      k.select(k.compare("ne", k.loadBits(condition!, at[0]!), 0), k.loadBits(a!, at[1]!), k.loadBits(b!, at[2]!)),
    ),
  ],
};
