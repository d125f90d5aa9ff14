import { UnsupportedError } from "@centella/core";
import type { Lowered } from "@centella/core/backend";
import type { Heap } from "./heap.ts";
import { choosePacking, isReadablePacked } from "./packedPanels.ts";
import { PersistentBuffer } from "./persistents.ts";
import { chooseInterleaving, isReadableInterleaved } from "./weightLayout.ts";

/**
 * Where a plan's persistents lie, by name: in the persistents of the plan that it shares them with, or in new ones, in a form that all uses can read.
 * `all` are the programs that will use them, its own among them.
 * @throws {UnsupportedError} where a shared one lies in a form that a use here cannot read
 */
export function planPersistents(
  heap: Heap,
  lowered: Lowered,
  all: readonly Lowered[],
  sharedPersistents: ReadonlyMap<string, PersistentBuffer> | undefined,
): ReadonlyMap<string, PersistentBuffer> {
  return new Map(
    [...lowered.program.persistents.values()].map((persistent) => {
      const shared = sharedPersistents?.get(persistent.name);
      if (shared?.interleaving !== undefined && !isReadableInterleaved(persistent, lowered)) {
        throw new UnsupportedError(
          `wasm: persistent ${persistent.name}`,
          "the plan that it is shared with holds its rows interleaved, which a use here cannot read; compile without shareWith",
        );
      }
      if (shared?.isPacked === true && !isReadablePacked(persistent, lowered)) {
        throw new UnsupportedError(
          `wasm: persistent ${persistent.name}`,
          "the plan that it is shared with holds it in panels, for products alone; name this program in that plan's sharedBy",
        );
      }
      const form = { interleaving: chooseInterleaving(persistent, all), isPacked: choosePacking(persistent, all) };
      return [persistent.name, shared ?? new PersistentBuffer(heap, persistent, form)];
    }),
  );
}
