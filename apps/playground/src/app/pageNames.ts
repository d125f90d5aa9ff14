/** The pages, in the order of the navigation. */
export const pageNames = ["chat", "structured", "tools", "tokens", "embed", "models", "bench", "about"] as const;

export type PageName = (typeof pageNames)[number];

/** The page of an address such as `#/tokens?seed=1`. A page that does not exist is the first one. */
export function pageOf(hash: string): PageName {
  const [path] = hash.replace(/^#\/?/, "").split("?", 1);
  return pageNames.find((name) => name === path) ?? "chat";
}
