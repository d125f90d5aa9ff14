import type { Backend } from "@centella/core";
import { uniform } from "../stats/random.ts";
import type { Ceiling } from "./measure.ts";

/** Copy bandwidth of a GPU: its driver copies a tensor far beyond the caches within the device. Bytes read and written are added up. */
export async function measureGpuCopy(backend: Backend): Promise<Ceiling> {
  if (backend.timeCopies === undefined) throw new Error(`ceiling: expected a device with memory of its own, got ${backend.name}`);
  const isFast = backend.device.kind === "gpu";
  const elements = isFast ? 2 ** 26 : 2 ** 20;
  // With 100 copies, the wait for the last one is less than a hundredth of the time.
  const copies = isFast ? 100 : 4;
  const tensor = backend.upload({ dtype: "f32", shape: [elements] }, uniform(1, elements));
  try {
    await backend.timeCopies(tensor, copies);
    const samples: number[][] = [];
    for (let pass = 0; pass < 5; pass++) {
      const seconds = [await backend.timeCopies(tensor, copies), await backend.timeCopies(tensor, copies)].map((us) => us / 1e6 / copies);
      samples.push(seconds);
    }
    return { kind: "copy", threads: 0, backend: backend.name, work: 8 * elements, samples };
  } finally {
    tensor.dispose();
  }
}
