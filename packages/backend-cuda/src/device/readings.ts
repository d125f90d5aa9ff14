/** What an NVIDIA device reports about itself through NVML. Values that it does not report are absent. */
export interface DeviceReading {
  /** Number of the device, in the order of `nvidia-smi`. */
  readonly index: number;
  readonly name: string;
  readonly usedBytes?: number;
  readonly freeBytes?: number;
  readonly totalBytes?: number;
  /** Percentage of the last second or so in which a kernel ran. */
  readonly utilization?: number;
  /** Percentage of that time in which memory was read or written. */
  readonly memoryUtilization?: number;
  /** Clock of the multiprocessors. */
  readonly clockMHz?: number;
  readonly memoryClockMHz?: number;
  readonly temperatureC?: number;
  readonly powerW?: number;
}

/** The NVIDIA devices of this machine. */
export interface DeviceReadings {
  /** E.g. "580.159.04". */
  readonly driverVersion: string;
  readonly devices: readonly DeviceReading[];
}
