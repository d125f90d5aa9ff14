import { ArgumentError, UnsupportedError } from "@centella/core";
import { byteArray, either, isRecord, type Kind, kind } from "@centella/quant/checks";
import { SnapshotError } from "../errors.ts";
import { hasMac, macBytes } from "./snapshot.ts";

/** Key of a snapshot's MAC: at least 16 secret bytes, or a `CryptoKey` for HMAC with SHA-256. */
export type SnapshotKey = CryptoKey | Uint8Array;

const minKeyBytes = 16;
const algorithm = { name: "HMAC", hash: "SHA-256" } as const;

const cryptoKey = kind("a CryptoKey", (value) => isRecord(value) && isRecord(value.algorithm) && Array.isArray(value.usages));
/** Kind of a {@link SnapshotKey}. */
export const snapshotKey: Kind = either(cryptoKey, byteArray);

/** Imports a key. @throws {ArgumentError} if it is too short or for another algorithm; {UnsupportedError} without Web Crypto */
export async function importKey(where: string, key: SnapshotKey, usage: "sign" | "verify"): Promise<CryptoKey> {
  if (key instanceof Uint8Array) {
    if (key.length < minKeyBytes)
      throw new ArgumentError(where, `a key of at least ${minKeyBytes} bytes`, String(key.length), "use 32 random ones");
    return webCrypto().importKey("raw", new Uint8Array(key), algorithm, false, [usage]);
  }
  const { name, hash } = key.algorithm as HmacKeyAlgorithm;
  if (name !== algorithm.name || hash.name !== algorithm.hash || !key.usages.includes(usage)) {
    const got = `one for ${name}${hash === undefined ? "" : ` with ${hash.name}`} and the usages ${key.usages.join(", ")}`;
    throw new ArgumentError(where, `a CryptoKey for HMAC with SHA-256 and the usage "${usage}"`, got);
  }
  return key;
}

/** Writes the MAC to the last {@link macBytes} bytes of a snapshot. */
export async function sign(snapshot: Uint8Array<ArrayBuffer>, key: CryptoKey): Promise<void> {
  const end = snapshot.length - macBytes;
  snapshot.set(new Uint8Array(await webCrypto().sign(algorithm, key, snapshot.subarray(0, end))), end);
}

/** Checks the MAC of a snapshot. @throws {SnapshotError} if it is missing or wrong */
export async function verify(snapshot: Uint8Array<ArrayBuffer>, key: CryptoKey): Promise<void> {
  if (!hasMac(snapshot)) throw unauthenticated("one without a MAC");
  const end = snapshot.length - macBytes;
  // Compares in constant time.
  const isAuthentic = await webCrypto().verify(algorithm, key, snapshot.subarray(end), snapshot.subarray(0, end));
  if (!isAuthentic) throw unauthenticated("one that was changed, or made with another key");
}

function unauthenticated(got: string): SnapshotError {
  const fix = "pass the key that it was saved with, or restore it without a key";
  return new SnapshotError("unauthenticated", `restore: expected a snapshot with a MAC of the key, got ${got}; ${fix}`);
}

function webCrypto(): SubtleCrypto {
  const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) throw new UnsupportedError("key", "pages have Web Crypto only in a secure context; serve the page over HTTPS");
  return subtle;
}
