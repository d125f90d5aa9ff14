import type { ModelSnapshot, ModelStore } from "@centella/llm/store";
import { type Readable, readable } from "svelte/store";

/** The state of a model as a store of Svelte. */
export function modelState({ getSnapshot, subscribe }: ModelStore): Readable<ModelSnapshot> {
  return readable(getSnapshot(), (set) => {
    set(getSnapshot());
    return subscribe(() => set(getSnapshot()));
  });
}
