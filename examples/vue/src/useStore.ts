import type { ModelSnapshot, ModelStore } from "@centella/llm/store";
import { onScopeDispose, readonly, type ShallowRef, shallowRef } from "vue";

/** The state of a model as a ref. */
export function useStore(store: ModelStore): Readonly<ShallowRef<ModelSnapshot>> {
  const snapshot = shallowRef(store.getSnapshot());
  const unsubscribe = store.subscribe(() => {
    snapshot.value = store.getSnapshot();
  });
  onScopeDispose(unsubscribe);
  return readonly(snapshot);
}
