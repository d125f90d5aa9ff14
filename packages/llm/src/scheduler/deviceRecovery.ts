import type { Backend, DeviceLostError } from "@centella/core";

/** Number of times that the backends opened a lost device again. */
export function countRecoveries(backends: readonly Backend[]): number {
  return backends.reduce((sum, { recoveries = 0 }) => sum + recoveries, 0);
}

/** Opens the lost devices of the backends again. False if none of them can be. @throws `loss` if one cannot be opened, with the cause */
export async function recoverDevices(backends: readonly Backend[], loss: DeviceLostError): Promise<boolean> {
  try {
    const recovered = await Promise.all(backends.map((backend) => backend.recover?.()));
    return recovered.some((each) => each !== undefined);
  } catch (cause) {
    throw Object.assign(loss, { cause });
  }
}
