import type { F32, U32 } from "@centella/gpu-kernels";
import { ClusterWriter } from "./cluster.ts";
import type { Elem, Shared } from "./types.ts";

/** Types that tensor cores multiply here. */
export type HalfType = "f16" | "bf16";

/**
 * A lane's part of a 16 x 16 matrix, with g = lane / 4 and t = lane % 4: two halves each of row g from column 2t, of row g + 8 from column
 * 2t, of row g from column 2t + 8, and of row g + 8 from column 2t + 8. Source: PTX ISA, "Matrix Fragments for mma.m16n8k16".
 */
export type LeftFragment = readonly [U32, U32, U32, U32];

/** A lane's part of a 16 x 8 matrix: two halves each of column g from row 2t, and of column g from row 2t + 8. */
export type RightFragment = readonly [U32, U32];

/** A lane's part of a 16 x 8 matrix of f32: row g, columns 2t and 2t + 1, then row g + 8, columns 2t and 2t + 1. */
export type SumFragment = readonly [F32, F32, F32, F32];

/** Products of small matrices that the lanes of a warp share. */
export class MatrixWriter extends ClusterWriter {
  /** `a * b + c`, with sums in f32. All lanes of the warp must take part. */
  multiplyMatrices(type: HalfType, a: LeftFragment, b: RightFragment, c: SumFragment): SumFragment {
    const to: SumFragment = [this.reg("f32"), this.reg("f32"), this.reg("f32"), this.reg("f32")];
    const operands = [to, a, b, c].map((registers) => `{${registers.join(",")}}`).join(", ");
    this.emit(`mma.sync.aligned.m16n8k16.row.col.f32.${type}.${type}.f32 ${operands}`);
    return to;
  }

  /**
   * Four 8 x 8 matrices of halves. The addresses of lanes 8i to 8i + 7, multiples of 16, are those of the rows of matrix i. Lane `4 row + t` gets
   * columns 2t and 2t + 1 of a row of each. All lanes of the warp must take part.
   */
  loadMatrices(from: Shared<Elem>, offset = 0): readonly [U32, U32, U32, U32] {
    const to = [this.reg("u32"), this.reg("u32"), this.reg("u32"), this.reg("u32")] as const;
    this.emit(`ldmatrix.sync.aligned.m8n8.x4.shared.b16 {${to.join(",")}}, [${from}+${offset}]`);
    return to;
  }

  /**
   * Stores four 8 x 8 matrices of halves, whose words and addresses lanes have as {@link loadMatrices} gives them. Needs sm_90. All lanes of the
   * warp must take part.
   */
  storeMatrices(to: Shared<Elem>, words: readonly [U32, U32, U32, U32], offset = 0): void {
    this.require("matrixStore");
    this.emit(`stmatrix.sync.aligned.m8n8.x4.shared.b16 [${to}+${offset}], {${words.join(",")}}`);
  }
}
