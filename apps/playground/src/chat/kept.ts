import { createStore, type UseStore } from "idb-keyval";

/** A store of this browser, opened when it is first used: some private windows refuse to open one. */
export function keptStore(name: string, table: string): <T>(work: (store: UseStore) => Promise<T>) => Promise<T> {
  let store: UseStore | undefined;
  return async (work) => {
    store ??= createStore(name, table);
    return work(store);
  };
}
