import type { Conv2dParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { input, output } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count, extents } from "./shared/shape.ts";

export const conv2d: KernelDefinition<Conv2dParams> = {
  build({ inputs: [x, w], params, output: y }) {
    const { stride, padding, dilation, groups } = params;
    return [
      perElement({
        bindings: [input("x", 0), input("w", 1), output("y")],
        uniforms: {
          ...{ channels: "u32", height: "i32", width: "i32", out: "u32", rows: "u32", columns: "u32", perGroup: "u32", outPerGroup: "u32" },
          ...{ kh: "u32", kw: "u32", sy: "i32", sx: "i32", py: "i32", px: "i32", dy: "i32", dx: "i32" },
        },
        body: `
          let j = i % p.columns; let line = i / p.columns % p.rows; let o = i / p.columns / p.rows % p.out; let n = i / p.columns / p.rows / p.out;
          let first = o / p.outPerGroup * p.perGroup;
          let top = i32(line) * p.sy - p.py;
          let left = i32(j) * p.sx - p.px;
          var sum = 0.0;
          for (var c = 0u; c < p.perGroup; c++) {
            for (var a = 0u; a < p.kh; a++) {
              let row = top + i32(a) * p.dy;
              if (row < 0 || row >= p.height) { continue; }
              let imageRow = i32((n * p.channels + first + c) * u32(p.height) + u32(row)) * p.width;
              let kernelRow = ((o * p.perGroup + c) * p.kh + a) * p.kw;
              for (var b = 0u; b < p.kw; b++) {
                let column = left + i32(b) * p.dx;
                if (column >= 0 && column < p.width) { sum = fma(x[imageRow + column], w[kernelRow + b], sum); }
              }
            }
          }
          y[i] = sum;
        `,
        count: (dims) => count(y.shape, dims),
        values(dims) {
          const [, channels, height, width] = extents(x!.shape, dims) as [number, number, number, number];
          const [out, perGroup, kh, kw] = extents(w!.shape, dims) as [number, number, number, number];
          const [rows, columns] = extents(y.shape, dims).slice(2) as [number, number];
          const [[sy, sx], [py, px], [dy, dx]] = [stride, padding, dilation];
          return { channels, height, width, out, rows, columns, perGroup, outPerGroup: out / groups, kh, kw, sy, sx, py, px, dy, dx };
        },
      }),
    ];
  },
};
