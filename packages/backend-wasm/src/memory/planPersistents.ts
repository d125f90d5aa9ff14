import { UnsupportedError } from "@centella/core";
import type { Lowered, Persistent } from "@centella/core/backend";
import type { FormatName } from "../formats/index.ts";
import type { Heap } from "./heap.ts";
import { choosePacking, isReadablePacked } from "./packedPanels.ts";
import { type Interleave, WasmPersistentBuffer } from "./persistentBuffer.ts";
import { chooseInterleaving, isReadableInterleaved } from "./weightLayout.ts";

/**
 * Adds a buffer for each persistent that `buffers`, those shared with another plan, do not have yet. Its layout is one that every use
 * can read in `all` programs which will use it.
 * @throws {UnsupportedError} for a shared buffer whose layout a use in `lowered` cannot read
 */
export function addBuffers(
  heap: Heap,
  lowered: Lowered,
  all: readonly Lowered[],
  buffers: Map<string, WasmPersistentBuffer>,
  interleave: (form: FormatName) => Interleave,
): void {
  for (const persistent of lowered.program.persistents.values()) {
    const { name } = persistent;
    const shared = buffers.get(name);
    if (shared !== undefined) {
      requireReadable(persistent, shared, lowered);
      continue;
    }
    const layout = { interleaving: chooseInterleaving(persistent, all), isPacked: choosePacking(persistent, all) };
    buffers.set(name, new WasmPersistentBuffer(heap, persistent, layout, interleave));
  }
}

/** @throws {UnsupportedError} */
function requireReadable(persistent: Persistent, { interleaving, isPacked }: WasmPersistentBuffer, lowered: Lowered): void {
  const what = `wasm: persistent ${persistent.name}`;
  if (interleaving !== undefined && !isReadableInterleaved(persistent, lowered))
    throw new UnsupportedError(
      what,
      "the plan that shares it holds its rows interleaved, which a use in this program cannot read; compile without shareWith",
    );
  if (isPacked && !isReadablePacked(persistent, lowered))
    throw new UnsupportedError(
      what,
      "the plan that shares it holds it in panels, which only products can read; name this program in that plan's sharedBy",
    );
}
