import type { launchChromium } from "@centella/test-devices";
import { build } from "esbuild";
import { expect } from "vitest";

const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const app = "https://app.test";

/** A page as a reader of a README makes it: scripts by the names that its snippets give them, bundled; `main.js` is the page's. */
export interface PageOptions {
  /** Entry points by name. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Text of the button that the reader presses, if any. */
  readonly presses: string | undefined;
  /** Pattern of what the page writes to the console and to its body. */
  readonly prints: RegExp;
  /** Serves what the page asks other hosts for. */
  readonly server: URL;
  /** Whether a software GPU computes, which is used only on request. */
  readonly isOnGpu: boolean;
}

/** Opens the page, and waits until it has written what it should to the console and to its body. @throws what the page throws */
export async function visitPage(
  browser: Exclude<Awaited<ReturnType<typeof launchChromium>>, string>,
  { scripts, presses, prints, server, isOnGpu }: PageOptions,
): Promise<void> {
  const page = await browser.newPage();
  try {
    const { outputFiles } = await build({
      entryPoints: { ...scripts },
      bundle: true,
      format: "esm",
      platform: "browser",
      outdir: "/",
      write: false,
      footer: { js: "globalThis.hasEnded = true;" },
    });
    const files = new Map(outputFiles.map(({ path, text }) => [path, text]));
    await page.route("**/*", async (route) => {
      const { origin, pathname } = new URL(route.request().url());
      if (origin !== app) {
        const response = await fetch(new URL(pathname, server), { headers: route.request().headers() });
        const headers = {
          ...Object.fromEntries(response.headers),
          "access-control-allow-origin": "*",
          "access-control-expose-headers": "*",
        };
        return route.fulfill({ status: response.status, headers, body: Buffer.from(await response.arrayBuffer()) });
      }
      if (pathname === "/")
        return route.fulfill({ headers: isolated, contentType: "text/html", body: '<script type="module" src="/main.js"></script>' });
      const body = files.get(pathname);
      if (body === undefined) return route.fulfill({ status: 404 });
      return route.fulfill({ headers: isolated, contentType: "text/javascript", body });
    });
    let log = "";
    const failed = new Promise<never>((_, reject) => page.on("pageerror", reject));
    failed.catch(() => undefined);
    page.on("console", (message) => {
      log += `${message.text()}\n`;
    });
    if (isOnGpu) await page.addInitScript('globalThis.process = { env: { CENTELLA_BACKEND: "webgpu" } }');
    await page.goto(`${app}/`);
    const ended = page.waitForFunction("globalThis.hasEnded", undefined, { timeout: 0 });
    ended.catch(() => undefined);
    await Promise.race([failed, ended]);
    if (presses !== undefined) await page.getByRole("button", { name: presses }).click();
    // Frameworks write after their script has ended.
    const read = async (): Promise<string> => log + (await page.evaluate<string>("document.body.textContent"));
    await expect.poll(() => Promise.race([failed, read()]), { timeout: 300_000 }).toMatch(prints);
  } finally {
    await page.close();
  }
}
