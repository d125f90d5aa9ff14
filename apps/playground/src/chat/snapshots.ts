import type { ChatMessage } from "@centella/llm";
import type { EngineModel } from "@centella/llm/store";
import { del, get, set } from "idb-keyval";
import { labelOf, type ModelSource } from "../model/source.ts";
import { keptStore } from "./kept.ts";

/*
 * A conversation's part of the model's cache survives a reload: the first message after it computes only what is new. Snapshots are signed
 * with a key that never leaves this browser, so that the engine may share their entries with all sessions.
 */

/** Larger snapshots take longer to write than most prompts to compute. */
const maxBytes = 64 << 20;

interface Snapshot {
  readonly model: string;
  readonly bytes: Uint8Array;
}

const withSnapshots = keptStore("centella-snapshots", "snapshots");
const withKeys = keptStore("centella-keys", "keys");
const algorithm: HmacKeyGenParams = { name: "HMAC", hash: "SHA-256" };

async function signingKey(): Promise<CryptoKey> {
  const known = await withKeys((store) => get<CryptoKey>("snapshots", store));
  if (known !== undefined) return known;
  const key = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  await withKeys((store) => set("snapshots", key, store));
  return key;
}

/** Stores the cache of a conversation that ends with an answer. What the engine cannot save is computed again after a reload. */
export async function saveSnapshot(id: string, model: EngineModel, source: ModelSource, messages: readonly ChatMessage[]): Promise<void> {
  const { memory, contextLength, sequences } = model.info;
  try {
    const session = model.createSession({ messages });
    // Continuing the answer by a token finds the conversation in the cache.
    const { usage } = await session.complete([], { maxTokens: 1, temperature: 0 });
    if ((usage.promptTokens * memory.cache) / (contextLength * sequences) > maxBytes) return;
    const bytes = await session.save({ key: await signingKey() });
    await withSnapshots((store) => set(id, { model: labelOf(source), bytes } satisfies Snapshot, store));
  } catch (error) {
    console.info("The cache of this conversation is not kept:", error);
  }
}

/** Loads the cache of a conversation into the model. Returns the number of its tokens; undefined if there is none for this model. */
export async function restoreSnapshot(id: string, model: EngineModel, source: ModelSource): Promise<number | undefined> {
  try {
    const snapshot = await withSnapshots((store) => get<Snapshot>(id, store));
    if (snapshot === undefined || snapshot.model !== labelOf(source)) return undefined;
    await model.restoreSession(snapshot.bytes, { key: await signingKey() });
    const { snapshotTokens } = await import("@centella/llm");
    return snapshotTokens(snapshot.bytes);
  } catch (error) {
    console.info("The cache of this conversation does not fit the model:", error);
    return undefined;
  }
}

export async function removeSnapshot(id: string): Promise<void> {
  await withSnapshots((store) => del(id, store)).catch(() => undefined);
}
