export { kernels } from "./kernels/index.ts";
