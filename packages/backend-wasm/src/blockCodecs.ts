export { dequantize, quantize, toSteps } from "@centella/quant";
