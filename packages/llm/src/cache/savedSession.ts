import { ArgumentError } from "@centella/core";
import { abortSignal, byteArray, check, checkOptions, type Kinds } from "@centella/quant/checks";
import type { ChatMessage } from "../chat/chatTemplate.ts";
import { SnapshotError } from "../errors.ts";
import type { AppliedAdapters } from "../load/adapterScales.ts";
import type { ModelContext } from "../model/modelContext.ts";
import type { RestoreOptions, SaveOptions } from "./saveOptions.ts";
import { decodeSnapshot, encodeSnapshot, type SnapshotTarget, snapshotAdapters } from "./snapshot.ts";
import { importKey, type SnapshotKey, sign, snapshotKey, verify } from "./snapshotMac.ts";

/** State of a session that is saved. */
export interface SessionState {
  /** Owner of the blocks that are saved. */
  readonly owner: object;
  /** See `Access`. */
  readonly scope: object | undefined;
  readonly adapters: AppliedAdapters | undefined;
  /** Tokens that were computed last. The cache may have evicted some of them. */
  readonly ids: readonly number[];
  readonly messages: readonly ChatMessage[];
}

/** A decoded and validated snapshot. */
export interface ReadSession {
  readonly messages: readonly ChatMessage[];
  readonly adapters: AppliedAdapters | undefined;
  /** Writes the snapshot's keys, values and states to the cache, readable by sessions of `scope`. @returns the ids that they belong to */
  load(owner: object, scope: object | undefined): Promise<readonly number[]>;
}

/** @throws {ArgumentError | BusyError | DisposedError | UnsupportedError}; the signal's reason */
export async function saveSession(
  model: ModelContext,
  { owner, scope, adapters, ids: computed, messages }: SessionState,
  options: SaveOptions,
): Promise<Uint8Array> {
  checkOptions("save", options, optionKinds);
  const { key, signal } = options;
  const { pool, stateTransfer } = model;
  const hmac = key && (await importKey("save", key, "sign"));
  const target = { ...(await snapshotTarget(model, adapters)), ...(adapters && { adapters: adapters.byName }) };
  const transfer = await model.cacheTransfer;
  const sequence = await pool.acquire(owner, computed, { scope, adapters, signal });
  let snapshot: Uint8Array<ArrayBuffer>;
  try {
    const ids = [...sequence.ids];
    const rows = await transfer.read(sequence.slots(0, ids.length));
    const stateRows = ids.length === 0 || stateTransfer === undefined ? [] : await stateTransfer.read(sequence.stateRow);
    snapshot = encodeSnapshot({ ...target, messages, ids, rows, stateRows }, hmac !== undefined);
  } finally {
    pool.release(sequence);
  }
  if (hmac !== undefined) await sign(snapshot, hmac);
  signal?.throwIfAborted();
  return snapshot;
}

/** @throws {SnapshotError | ArgumentError | UnsupportedError} */
export async function readSession(model: ModelContext, bytes: Uint8Array, options: RestoreOptions): Promise<ReadSession> {
  check("restoreSession", "bytes", bytes, byteArray, "pass what session.save() gave");
  checkOptions("restoreSession", options, optionKinds);
  const { key, signal } = options;
  const snapshot = key === undefined ? bytes : await authentic(bytes, key);
  const adapters = adaptersOf(model, snapshot);
  const target = await snapshotTarget(model, adapters);
  const { ids, rows, stateRows, messages } = decodeSnapshot(snapshot, target);
  return {
    messages,
    adapters,
    async load(owner, scope) {
      const { pool, scheduler, stateTransfer } = model;
      const transfer = await model.cacheTransfer;
      // A recurrent state follows the last token, so it is useless if the text does not fit.
      const fitting = stateTransfer === undefined || ids.length <= scheduler.contextLength ? ids.slice(0, scheduler.contextLength) : [];
      const sequence = await pool.acquire(owner, fitting, { scope, adapters, signal });
      try {
        const start = sequence.ids.length;
        const missing = fitting.slice(start);
        if (missing.length === 0) return fitting;
        if (scope !== undefined) sequence.distrust();
        const parts = rows.map((values) => {
          const elements = values.length / ids.length;
          return values.subarray(start * elements, fitting.length * elements);
        });
        await transfer.write(sequence.reserve(missing.length), parts);
        await stateTransfer?.write(sequence.stateRow, stateRows);
        sequence.append(missing);
        return fitting;
      } finally {
        pool.release(sequence);
      }
    },
  };
}

const optionKinds: Kinds<SaveOptions & RestoreOptions> = { key: snapshotKey, signal: abortSignal };

/** Verifies a copy of a snapshot and returns that copy, so that the caller cannot change the bytes after they were verified. */
async function authentic(bytes: Uint8Array, key: SnapshotKey): Promise<Uint8Array> {
  const hmac = await importKey("restoreSession", key, "verify");
  const copy = new Uint8Array(bytes);
  await verify(copy, hmac);
  return copy;
}

/** The adapters that a snapshot was computed with. @throws {SnapshotError} if the model was loaded without one of them */
function adaptersOf(model: ModelContext, snapshot: Uint8Array): AppliedAdapters | undefined {
  try {
    return model.applied("restoreSession", snapshotAdapters(snapshot));
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw new SnapshotError("otherModel", error.message, { cause: error });
  }
}

async function snapshotTarget(model: ModelContext, adapters: AppliedAdapters | undefined): Promise<SnapshotTarget> {
  const { cacheType, cacheTransfer, stateTransfer, scheduler } = model;
  const states = stateTransfer?.rowSizes ?? [];
  return {
    model: await model.identity(adapters),
    cacheType,
    layers: (await cacheTransfer).rowSizes,
    states,
    vocabSize: scheduler.vocabSize,
  };
}
