export { activationType, roundActivations } from "./activations.ts";
export { bfloatToFloat, floatToBfloat } from "./bfloat.ts";
export { dequantize, isDequantizable } from "./dequantize.ts";
export { QuantError, type QuantErrorCode } from "./errors.ts";
export { floatToHalf, halfToFloat } from "./half.ts";
export { activationSumErrors, blockMinima } from "./minima.ts";
export { isQuantizable, type QuantizableType, type QuantizeOptions, quantize } from "./quantize.ts";
export { type ActivationType, quantizeRow } from "./quantizeRow.ts";
export type { Rounding } from "./rounding.ts";
export { bfloatRowToFloat, floatRowToBfloat, floatRowToHalf, halfRowToFloat } from "./rows.ts";
export { toSteps } from "./steps.ts";
export {
  type BlockType,
  blockLayout,
  type GgmlType,
  ggmlTypes,
  isBlockType,
  isGgmlType,
  type PlainType,
  rowBytes,
  type TypeLayout,
  tensorBytes,
  typeById,
  withdrawnTypeById,
} from "./types.ts";
