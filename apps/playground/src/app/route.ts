import { useSyncExternalStore } from "react";
import { type PageName, pageOf } from "./pageNames.ts";

/** A place in the app: a page, and settings that a link carries. */
export interface Route {
  readonly page: PageName;
  readonly params: URLSearchParams;
}

/** Where the address bar points: `#/PAGE?NAME=VALUE…`. A page that does not exist is the first one. */
export function useRoute(): Route {
  return useSyncExternalStore(subscribe, current);
}

/** The address of a page, with the settings of now. */
export function hrefOf(page: PageName): string {
  return addressOf(page, current().params);
}

/** Changes settings; undefined and "" remove one. The page stays. */
export function setParams(changes: Readonly<Record<string, string | undefined>>): void {
  const { page, params } = current();
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  history.replaceState(history.state, "", addressOf(page, next));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function addressOf(page: PageName, params: URLSearchParams): string {
  return `#/${page}${params.size === 0 ? "" : `?${params}`}`;
}

let known: { readonly hash: string; readonly route: Route } | undefined;

/** The same object until the address changes. */
function current(): Route {
  const { hash } = location;
  if (known?.hash !== hash) known = { hash, route: parse(hash) };
  return known.route;
}

function parse(hash: string): Route {
  const [, query = ""] = hash.split("?", 2);
  return { page: pageOf(hash), params: new URLSearchParams(query) };
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}
