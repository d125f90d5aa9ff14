import type { DType } from "@centella/core";
import type { Capabilities, SubgroupMatrixShape } from "../../device/capabilities.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import type { Binding } from "../shared/kernel.ts";
import type { TileRows } from "../shared/tileRows.ts";

/** WGSL that loads, multiplies and stores the matrices of a subgroup. */
export interface MatrixFunctions {
  /** Element type of the workgroup memory that matrices are loaded from. */
  readonly element: "f16" | "f32";
  /** Bytes of an element. */
  readonly bytes: number;
  readonly declarations: readonly string[];
  /** Expression of a matrix of results, all zeros. */
  readonly zeros: string;
  /** Expression of the matrix from element `at` of `leftTile` or `rightTile` on, whose rows of depth are `stride` elements apart. */
  load(side: "left" | "right", at: string, stride: number): string;
  /** Expression of `sums` plus the product of both matrices. */
  multiply(left: string, right: string, sums: string): string;
  /** Statement that stores a matrix of results row by row from element `at` of `results` on. */
  store(at: string, sums: string): string;
}

/** The functions of WGSL's experimental feature. */
function subgroupMatrixFunctions({ type, resultType, m, n, k }: SubgroupMatrixShape): MatrixFunctions {
  const types = { left: `subgroup_matrix_left<${type}, ${k}, ${m}>`, right: `subgroup_matrix_right<${type}, ${n}, ${k}>` };
  return {
    element: "f16",
    bytes: 2,
    declarations: [],
    zeros: `subgroup_matrix_result<${resultType}, ${n}, ${m}>()`,
    load: (side, at, stride) =>
      `subgroupMatrixLoad<${types[side]}, ${side === "left" ? "row" : "col"}_major>(&${side}Tile, ${at}, ${stride}u)`,
    multiply: (left, right, sums) => `subgroupMatrixMultiplyAccumulate(${left}, ${right}, ${sums})`,
    store: (at, sums) => `subgroupMatrixStore<row_major>(&results, ${at}, ${sums}, ${n}u);`,
  };
}

/** How a workgroup divides its tile. */
export interface MatrixForm {
  readonly rows: number;
  readonly columns: number;
  /** Elements of the depth in workgroup memory. */
  readonly depth: number;
  /** Subgroups that share the rows, and the columns. */
  readonly down: number;
  readonly across: number;
}

/** Elements from a row of a tile to the next one. Those beyond the depth let subgroups read different banks. */
export function strideOf({ depth }: MatrixForm): number {
  return depth + 8;
}

/** A weight `[n, k]`, in a binding of {@link rowElement}. */
export interface MatrixWeight {
  readonly binding: Binding;
  readonly dtype: DType;
}

/** Columns of each weight in a tile, which has those of the first weight, then those of the second. */
export function columnsOf({ columns }: MatrixForm, weights: readonly MatrixWeight[]): number {
  return columns / weights.length;
}

/** Whether no weight has to be decoded. */
export function isPlain(weights: readonly Pick<MatrixWeight, "dtype">[]): boolean {
  return weights.every(({ dtype }) => dtype === "f16");
}

/** What multiplies matrices on a device. */
export interface MatrixUnit {
  readonly shape: SubgroupMatrixShape;
  /** Lanes of a subgroup. */
  readonly subgroup: number;
  readonly functions: MatrixFunctions;
}

/** What computes the tile of a workgroup. */
export interface MatrixTile extends MatrixUnit {
  readonly form: MatrixForm;
  /** Lanes of the workgroup. */
  readonly lanes: number;
  readonly order: TileRows;
}

/** A result of products of the same rows with weights of equal shapes. */
export interface MatrixResult {
  /** Last part of the names that a dispatch has for each result: the uniform `n`, the binding `y` and the function `store`. */
  readonly suffix: string;
  readonly weights: readonly MatrixWeight[];
  readonly columns: number;
  readonly y: Binding;
  /** `store` takes an element's index and its result of each product. */
  readonly store: EpilogueText;
}

/** Rows, columns and depth of a subgroup's matrices. */
export const matrixSize = 16;

/** Products of a subgroup's matrices with halves, and sums of floats; undefined where a device has none. */
export function matrixUnit(capabilities: Capabilities): MatrixUnit | undefined {
  const found = matrixUnitOrReason(capabilities);
  return typeof found === "string" ? undefined : found;
}

/** Returns the {@link matrixUnit} of a device, or why it has none. */
export function matrixUnitOrReason({ subgroups, subgroupMatrices, f16 }: Capabilities): MatrixUnit | string {
  if (subgroupMatrices.length === 0) return "the device offers no subgroup matrices";
  const shape = subgroupMatrices.find(({ type, resultType, m, n, k }) => {
    return type === "f16" && resultType === "f32" && [m, n, k].every((size) => size === matrixSize);
  });
  if (shape === undefined) return "the device has no matrices of 16 × 16 × 16 of f16 with sums of f32";
  if (!f16) return 'it needs the feature "shader-f16"';
  if (subgroups === undefined) return 'it needs the feature "subgroups"';
  const { min, max } = subgroups;
  // Lanes of a workgroup are divided by subgroups.
  if (min !== max) return `it needs subgroups of one size, and the device has ${min} to ${max} lanes`;
  return { shape, subgroup: max, functions: subgroupMatrixFunctions(shape) };
}
