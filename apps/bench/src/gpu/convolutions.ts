import { tupleOf } from "@centella/quant/checks";
import { uniform } from "../stats/random.ts";
import { type GpuKernel, limits, type Scale } from "./kernel.ts";

const channels = 32;
const window = 3;
const sizes: Readonly<Record<Scale, readonly number[]>> = { full: [64, 128, 256, 512, 1024], tiny: [8] };

/** Convolutions of square images. Zeros are added at the left and at the right. */
export function convolutionKernels(scale: Scale): readonly GpuKernel[] {
  return sizes[scale].map((n): GpuKernel => {
    const rows = n - window + 1;
    return {
      group: "convolution",
      name: `conv2d 3×3, ${channels} channels of ${n}²`,
      bytes: 4 * (channels * n * n + channels * channels * window * window + channels * rows * n),
      flops: 2 * channels * channels * window * window * rows * n,
      unit: "f32",
      operands: () => [
        { spec: { dtype: "f32", shape: [1, channels, n, n] }, data: uniform(21, channels * n * n) },
        { spec: { dtype: "f32", shape: [channels, channels, window, window] }, data: uniform(23, channels * channels * window * window) },
      ],
      call: (program, operands) => program.conv2d(...tupleOf(operands, 2), { padding: [0, 1] }),
      sample([x, w]) {
        // The rows of the image that a row in the middle of the result is computed from.
        const row = Math.floor(rows / 2);
        const strip = new Float32Array(channels * window * n);
        for (let c = 0; c < channels; c++) {
          const start = (c * n + row) * n;
          strip.set((x!.data as Float32Array).subarray(start, start + window * n), c * window * n);
        }
        return {
          operands: [{ spec: { dtype: "f32", shape: [1, channels, window, n] }, data: strip }, w!],
          at: (index) => (Math.floor(index / n) * rows + row) * n + (index % n),
        };
      },
      limit: limits.f32,
    };
  });
}
