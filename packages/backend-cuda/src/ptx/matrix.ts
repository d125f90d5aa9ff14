import type { F32, I32, U32 } from "@centella/gpu-kernels";
import { ClusterWriter } from "./cluster.ts";
import type { Elem, Reg, Shared } from "./types.ts";

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

/**
 * A lane's part of a 16 x 8 matrix of tf32 ({@link MatrixWriter.floatToTf32}), with g = lane / 4 and t = lane % 4: row g, column t; row g + 8, column t;
 * row g, column t + 4; row g + 8, column t + 4. Source: PTX ISA, "Matrix Fragments for mma.m16n8k8".
 */
export type LeftTf32Fragment = readonly [U32, U32, U32, U32];

/** A lane's part of an 8 x 8 matrix of tf32: column g, rows t and t + 4. */
export type RightTf32Fragment = readonly [U32, U32];

/**
 * A lane's part of a 16 x 32 matrix of signed bytes: four each of row g from column 4t, of row g + 8 from column 4t, of row g from column 4t + 16, and
 * of row g + 8 from column 4t + 16. Source: PTX ISA, "Matrix Fragments for mma.m16n8k32".
 */
export type LeftByteFragment = readonly [U32, U32, U32, U32];

/** A lane's part of a 32 x 8 matrix of signed bytes: four each of column g from row 4t, and of column g from row 4t + 16. */
export type RightByteFragment = readonly [U32, U32];

/** A lane's part of a 16 x 8 matrix of i32, at the places of a {@link SumFragment}. */
export type IntegerFragment = readonly [I32, I32, I32, I32];

/** Number of 8 x 8 matrices that are loaded or stored at once. */
export type MatrixCount = 1 | 2 | 4;

/** A lane's words of 8 x 8 matrices, one of each. */
export type MatrixWords<N extends MatrixCount = MatrixCount> = N extends 1
  ? readonly [U32]
  : N extends 2
    ? readonly [U32, U32]
    : readonly [U32, U32, U32, U32];

/** Products of small matrices that the lanes of a warp share. */
export class MatrixWriter extends ClusterWriter {
  /** `a * b + c`, with sums in f32. All lanes of the warp must take part. Source: PTX ISA, "mma". */
  multiplyMatrices(type: HalfType, a: LeftFragment, b: RightFragment, c: SumFragment): SumFragment {
    return this.#multiply(`m16n8k16.row.col.f32.${type}.${type}.f32`, "f32", [a, b, c]);
  }

  /** `a * b + c` of tf32, with sums in f32. All lanes of the warp must take part. Source: PTX ISA, "mma". */
  multiplyTf32(a: LeftTf32Fragment, b: RightTf32Fragment, c: SumFragment): SumFragment {
    return this.#multiply("m16n8k8.row.col.f32.tf32.tf32.f32", "f32", [a, b, c]);
  }

  /** `a * b + c` of signed bytes, with sums in i32 that wrap. All lanes of the warp must take part. Source: PTX ISA, "mma". */
  multiplyBytes(a: LeftByteFragment, b: RightByteFragment, c: IntegerFragment): IntegerFragment {
    return this.#multiply("m16n8k32.row.col.s32.s8.s8.s32", "i32", [a, b, c]);
  }

  /** Rounds to the nearest number of 11 significant bits, halves away from zero, for {@link multiplyTf32}. Source: PTX ISA, "cvt". */
  floatToTf32(a: F32): U32 {
    return this.result("u32", "cvt.rna.tf32.f32", a);
  }

  /**
   * Loads 8 x 8 matrices of halves (default: four). The addresses of lanes 8i to 8i + 7, multiples of 16, are those of the rows of matrix i. Lane
   * `4 row + t` gets columns 2t and 2t + 1 of a row of each. If `isTransposed`, lane `4 column + t` gets rows 2t and 2t + 1 of a column. All lanes of the
   * warp must take part. Source: PTX ISA, "ldmatrix".
   */
  loadMatrices<N extends MatrixCount = 4>(
    from: Shared<Elem>,
    offset = 0,
    { count, isTransposed = false }: { readonly count?: N; readonly isTransposed?: boolean } = {},
  ): MatrixWords<N> {
    const to = Array.from({ length: count ?? 4 }, () => this.reg("u32"));
    this.emit(`ldmatrix.${matrixForm(to.length, isTransposed)} {${to.join(",")}}, [${from}+${offset}]`);
    return to as readonly U32[] as MatrixWords<N>;
  }

  /**
   * Stores one, two or four 8 x 8 matrices of halves, whose words and addresses lanes have as {@link loadMatrices} gives them. Needs sm_90. All lanes of the
   * warp must take part. Source: PTX ISA, "stmatrix".
   */
  storeMatrices(
    to: Shared<Elem>,
    words: MatrixWords,
    offset = 0,
    { isTransposed = false }: { readonly isTransposed?: boolean } = {},
  ): void {
    this.require("matrixStore");
    this.emit(`stmatrix.${matrixForm(words.length, isTransposed)} [${to}+${offset}], {${words.join(",")}}`);
  }

  #multiply<T extends "f32" | "i32">(
    form: string,
    type: T,
    operands: readonly (readonly string[])[],
  ): readonly [Reg<T>, Reg<T>, Reg<T>, Reg<T>] {
    const to = [this.reg(type), this.reg(type), this.reg(type), this.reg(type)] as const;
    this.emit(`mma.sync.aligned.${form} ${[to, ...operands].map((registers) => `{${registers.join(",")}}`).join(", ")}`);
    return to;
  }
}

function matrixForm(count: number, isTransposed: boolean): string {
  return `sync.aligned.m8n8.x${count}${isTransposed ? ".trans" : ""}.shared.b16`;
}
