import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Browser } from "playwright-core";
import type { PageTest } from "./inPage/vitestInPage.ts";

/** What a page of {@link openBundle} consists of. */
export interface BundleOptions {
  /** Paths of scripts by their names: `main` is the page's, others are those of workers at `/NAME.js`. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Modules in place of others: paths by the other's path, or by the name of its package. */
  readonly replaced?: Readonly<Record<string, string>>;
  /** Further files by their paths, such as `/model.gguf`. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** Whether each script is one minified file. Default false: code that scripts share or import late has files of its own. */
  readonly isMinified?: boolean;
  /** Whether the page is cross-origin isolated, as threads need it. Default true. */
  readonly isIsolated?: boolean;
}

/** A bundled page on a server. */
export interface BundledPage extends AsyncDisposable {
  readonly url: string;
}

const isolation = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const types: Readonly<Record<string, string>> = { ".js": "text/javascript", ".wasm": "application/wasm" };
const html = '<!doctype html><meta charset="utf-8"><title>tests</title><main></main><script type="module" src="/main.js"></script>';

/** Bundles scripts from the packages' sources, with what they import of others, and serves them to browsers. */
export async function serveBundle({
  scripts,
  replaced = {},
  files = {},
  isMinified = false,
  isIsolated = true,
}: BundleOptions): Promise<BundledPage> {
  const { outputFiles } = await build({
    entryPoints: { ...scripts },
    bundle: true,
    splitting: !isMinified,
    minify: isMinified,
    format: "esm",
    target: "es2022",
    platform: "browser",
    conditions: ["@centella/source"],
    define: { "process.env.NODE_ENV": '"development"' },
    outdir: "/",
    write: false,
    logLevel: "error",
    plugins: [replacing(replaced)],
  });
  const served = new Map<string, Uint8Array>([
    ...Object.entries(files),
    ...outputFiles.map(({ path, contents }) => [path.replaceAll("\\", "/").replace(/^[A-Z]:/, ""), contents] as const),
    ["/", new TextEncoder().encode(html)],
  ]);
  const server = createServer(({ url = "/" }, response) => {
    const body = served.get(url);
    const type = url === "/" ? "text/html" : (types[extname(url)] ?? "application/octet-stream");
    response
      .writeHead(body === undefined ? 404 : 200, {
        ...(isIsolated && isolation),
        "content-type": type,
        "content-length": body?.length ?? 0,
      })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () => closed(server),
  };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** Replaces modules. */
function replacing(replaced: Readonly<Record<string, string>>): Plugin {
  return {
    name: "replaced modules",
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ path, resolveDir, importer }) => {
        const found = replaced[path.startsWith(".") ? join(resolveDir, path) : path];
        // The module itself may import what it replaces.
        return found === undefined || found === importer ? undefined : { path: found };
      });
    },
  };
}

const inPage = (name: string): string => fileURLToPath(new URL(`inPage/${name}.ts`, import.meta.url));

/**
 * Runs files of tests in a page, as they are: `vitest` and the modules of `replaced` are others there.
 * @throws the errors of the page
 */
export async function runPageTests(
  browser: Browser,
  tests: readonly string[],
  { scripts = {}, replaced = {}, files = {} }: Partial<BundleOptions> = {},
): Promise<readonly PageTest[]> {
  const vitest = inPage("vitestInPage");
  const results: PageTest[] = [];
  for (const test of tests) {
    await using served = await serveBundle({
      scripts: { ...scripts, main: inPage("main") },
      replaced: { ...replaced, vitest, "tests-of-page": test },
      files,
    });
    const context = await browser.newContext();
    const page = await context.newPage();
    const failed = new Promise<never>((_, reject) => page.on("pageerror", reject));
    failed.catch(() => undefined);
    try {
      await page.goto(served.url);
      const all = page.waitForFunction("globalThis.pageTests", undefined, { timeout: 0 });
      all.catch(() => undefined);
      await Promise.race([failed, all]);
      results.push(...(await page.evaluate<readonly PageTest[]>("globalThis.pageTests")));
    } finally {
      await context.close();
    }
  }
  return results;
}
