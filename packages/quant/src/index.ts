export { activationType, roundActivations } from "./activations.ts";
export { bfloatToFloat, floatToBfloat } from "./bfloat.ts";
export { dequantize } from "./dequantize.ts";
export { ArgumentError, CentellaError, DisposedError, QuantError, type QuantErrorCode } from "./errors.ts";
export { codebook } from "./grids.ts";
export { floatToHalf, halfToFloat } from "./half.ts";
export { activationSumErrors, blockMinima } from "./minima.ts";
export { type QuantizeOptions, quantize } from "./quantize.ts";
export { type ActivationType, quantizeRow } from "./quantizeRow.ts";
export type { Rounding } from "./rounding.ts";
export { bfloatRowToFloat, floatRowToBfloat, floatRowToHalf, halfRowToFloat } from "./rows.ts";
export { toSteps } from "./steps.ts";
export {
  type BlockType,
  blockLayout,
  type DequantizableType,
  type GgmlType,
  ggmlTypes,
  isBlockType,
  isDequantizable,
  isGgmlType,
  isQuantizable,
  type PlainType,
  type QuantizableType,
  rowBytes,
  type TypeLayout,
  tensorBytes,
  typeById,
  withdrawnTypeById,
} from "./types.ts";
