export type { CudaBackend } from "./backend.ts";
export { type CudaOptions, cuda } from "./cuda.ts";
export type { PtxCall, PtxKernel, PtxMap } from "./customKernel.ts";
export {
  type CudaDriver,
  type DeviceProperties,
  DriverError,
  type Handle,
  type LaunchCommand,
  type Mark,
  type Span,
} from "./device/driver.ts";
export type { DeviceReading, DeviceReadings } from "./device/readings.ts";
export { readDevices } from "./nativeDriver.ts";
