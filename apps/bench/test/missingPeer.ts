import { peerVersion } from "../src/peers/load.ts";

/** Why tests against a peer are skipped here, or undefined if it is installed. */
export function missingPeer(name: string): string | undefined {
  try {
    peerVersion(name);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
