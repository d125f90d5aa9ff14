export { toSteps } from "@centella/quant";
