import type { Lease } from "../models/modelEntry.ts";
import { version } from "../version.ts";

/** Names what decides about a text besides its request: the version of the server, the model's file and the backend. */
export function fingerprintOf({ model: { info } }: Pick<Lease, "model">): string {
  return `centella-${version} ${info.name} ${info.quantization} ${info.backend}`.replace(/[^\w.+-]+/g, "_");
}
