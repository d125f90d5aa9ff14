import { snapshotTokens } from "@centella/llm";
import { ApiError } from "../errors.ts";
import type { Call } from "../http/route.ts";
import type { Lease } from "../models/modelEntry.ts";
import type { Slot } from "../models/slots.ts";
import type { SlotStore } from "../slotStore.ts";

/** What a request wants of a slot. */
export interface Action {
  readonly call: Call;
  readonly lease: Lease;
  readonly slot: Slot;
  readonly filename: string | undefined;
  readonly store: SlotStore;
}

/** @throws {ApiError} 400 */
function nameOf({ filename }: Action): string {
  if (filename === undefined)
    throw new ApiError(400, "missing_parameter", "filename: expected a string, got nothing", { param: "filename" });
  return filename;
}

async function save(action: Action): Promise<object> {
  const { call, slot, store } = action;
  const filename = nameOf(action);
  const startedAt = performance.now();
  if (slot.session === undefined)
    throw new ApiError(400, "unsupported_value", `slot ${slot.id}: expected a slot with a text, got an empty one`);
  const bytes = await slot.session.save({ signal: call.signal });
  await store.write(filename, bytes);
  slot.tokens = snapshotTokens(bytes);
  return { id_slot: slot.id, filename, n_saved: slot.tokens, n_written: bytes.length, timings: { save_ms: performance.now() - startedAt } };
}

async function restore(action: Action): Promise<object> {
  const { call, lease, slot, store } = action;
  const filename = nameOf(action);
  const startedAt = performance.now();
  const bytes = await store.read(filename);
  if (bytes === undefined)
    throw new ApiError(400, "invalid_value", `filename: expected the name of a saved slot, got ${JSON.stringify(filename)}`, {
      param: "filename",
    });
  await lease.slots.restore(slot, bytes, call.signal);
  slot.tokens = snapshotTokens(bytes);
  return {
    id_slot: slot.id,
    filename,
    n_restored: slot.tokens,
    n_read: bytes.length,
    timings: { restore_ms: performance.now() - startedAt },
  };
}

async function erase({ lease, slot }: Action): Promise<object> {
  return { id_slot: slot.id, n_erased: lease.slots.erase(slot) };
}

/** Actions by the names of llama-server. */
export const actions: Readonly<Record<string, (action: Action) => Promise<object>>> = { save, restore, erase };
