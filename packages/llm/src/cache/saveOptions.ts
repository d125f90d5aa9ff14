import { abortSignal, anything, type Kinds } from "@centella/quant/checks";
import type { SnapshotKey } from "./snapshotMac.ts";

/** Options of `session.save`. */
export interface SaveOptions {
  /**
   * Adds an HMAC-SHA-256 with this key, so that `restoreSession` detects changes to the snapshot. At least 16 secret bytes, or a `CryptoKey`
   * for HMAC with SHA-256.
   */
  readonly key?: SnapshotKey | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `model.restoreSession`. */
export interface RestoreOptions {
  /**
   * Refuses snapshots without a MAC of this key. The cache entries of an authentic snapshot are shared with other sessions. Without a key,
   * only the restored session and its forks use the entries, because they may be forged.
   */
  readonly key?: SnapshotKey | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of saving and restoring; the key's form is checked where it is used. */
export const savingKinds: Kinds<SaveOptions> = { key: anything, signal: abortSignal };
