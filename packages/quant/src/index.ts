export { dequantize } from "./dequantize/dequantize.ts";
export { ArgumentError, CentellaError, DisposedError, QuantError, type QuantErrorCode } from "./errors.ts";
export { bfloatToFloat, floatToBfloat } from "./floats/bfloat.ts";
export { floatToHalf, halfToFloat } from "./floats/half.ts";
export type { BitPiece, NumberLayout, PlaneLayout } from "./planes/layouts.ts";
export { dequantizePlanes, fromPlanes, planeLayout, toPlanes } from "./planes/planes.ts";
export { type RecodedForm, recode, recodedForm } from "./planes/recode.ts";
export type { Planes } from "./planes/split.ts";
export { activationType, roundActivations } from "./quantize/activations.ts";
export { activationSumErrors, blockMinima } from "./quantize/minima.ts";
export { type QuantizeOptions, quantize } from "./quantize/quantize.ts";
export { type ActivationType, quantizeRow } from "./quantize/quantizeRow.ts";
export type { Rounding } from "./quantize/rounding.ts";
export { bfloatRowToFloat, floatRowToBfloat, floatRowToHalf, halfRowToFloat } from "./quantize/rows.ts";
export { toSteps } from "./quantize/steps.ts";
export { codebook } from "./types/codebook/codebookTypes.ts";
export {
  type BlockType,
  blockLayout,
  type DequantizableType,
  type GgmlType,
  ggmlTypes,
  isBlockType,
  isDequantizable,
  isGgmlType,
  isHalf,
  isQuantizable,
  type PlainType,
  type QuantizableType,
  rowBytes,
  type TypeLayout,
  tensorBytes,
  typeById,
  withdrawnTypeById,
} from "./types/types.ts";
