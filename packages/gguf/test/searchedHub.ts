import { serve, type TestServer } from "./httpServer.ts";

/** A repository of {@link serveSearch}: its files with their sizes. */
export interface SearchedRepository {
  readonly files: Readonly<Record<string, number>>;
  readonly license?: string;
  readonly gated?: false | "auto" | "manual";
  readonly downloads?: number;
}

/** A hub that lists models as Hugging Face does: two to a page, and the files of each by `tree`. */
export function serveSearch(repositories: Readonly<Record<string, SearchedRepository>>): Promise<TestServer> {
  return serve((request, response) => {
    const { pathname, searchParams, href } = new URL(request.url!, `http://${request.headers.host}`);
    const json = (body: unknown): void => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify(body));
    };
    const [, tree] = /^\/api\/models\/(.+)\/tree\/main$/.exec(pathname) ?? [];
    if (tree !== undefined) {
      const files = Object.entries(repositories[tree]!.files);
      return json(files.map(([path, size]) => ({ type: "file", path, size, oid: "git" })));
    }
    const word = searchParams.get("search")!.toLowerCase();
    const found = Object.entries(repositories).filter(([name]) => name.toLowerCase().includes(word));
    const start = Number(searchParams.get("cursor") ?? 0);
    const next = new URL(href);
    next.searchParams.set("cursor", String(start + 2));
    if (start + 2 < found.length) response.setHeader("Link", `<${next.href}>; rel="next"`);
    return json(
      found.slice(start, start + 2).map(([id, { license, gated = false, downloads = 0 }], i) => ({
        _id: String(start + i),
        id,
        gated,
        downloads,
        likes: 1,
        private: false,
        lastModified: "2026-01-01T00:00:00.000Z",
        tags: ["gguf", ...(license === undefined ? [] : [`license:${license}`])],
      })),
    );
  });
}
