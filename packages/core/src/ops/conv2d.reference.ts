import type { Reference } from "../reference/referenceType.ts";

type Quad = readonly [number, number, number, number];

export const conv2d: Reference<"conv2d"> = ([x, w], params, y) => {
  const { groups } = params;
  const [batch, out, rows, columns] = y.spec.shape as Quad;
  const [, channels, height, width] = x.spec.shape as Quad;
  const [, perGroup, kh, kw] = w.spec.shape as Quad;
  const [[sy, sx], [py, px], [dy, dx]] = [params.stride, params.padding, params.dilation];
  const [image, kernel] = [x.data, w.data];
  let at = 0;
  for (let n = 0; n < batch; n++) {
    for (let o = 0; o < out; o++) {
      const first = Math.floor(o / (out / groups)) * perGroup;
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
          let sum = 0;
          for (let c = 0; c < perGroup; c++) {
            for (let p = 0; p < kh; p++) {
              const row = i * sy + p * dy - py;
              if (row < 0 || row >= height) continue;
              const imageRow = ((n * channels + first + c) * height + row) * width;
              const kernelRow = ((o * perGroup + c) * kh + p) * kw;
              for (let q = 0; q < kw; q++) {
                const column = j * sx + q * dx - px;
                if (column >= 0 && column < width) sum += image[imageRow + column]! * kernel[kernelRow + q]!;
              }
            }
          }
          y.data[at++] = sum;
        }
      }
    }
  }
};
