import type { Browser, Page } from "./browser.ts";
import { type HostOptions, serveOn } from "./host.ts";

/** When what happened at a first visit, in ms after the navigation began. */
export interface FirstVisit {
  /** The page can be used: the first button is there. */
  readonly usableMs: number;
  /** The engine's code runs, and downloads the model. */
  readonly downloadMs: number;
  readonly loadMs: number;
  readonly readyMs: number;
  /** The first piece of the answer is shown. */
  readonly tokenMs: number;
}

/** Visits the page with an empty profile, asks for a story as soon as that is possible, and waits for its first token. */
export async function visitFirst(browser: Browser, options: HostOptions): Promise<FirstVisit> {
  await using host = await serveOn(options);
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.addInitScript(watchPage);
    await page.goto(`${host.url}#/chat`);
    return await times(page);
  } finally {
    await context.close();
  }
}

async function times(page: Page): Promise<FirstVisit> {
  const handle = await page.waitForFunction(
    () => {
      const { seen } = globalThis as unknown as { readonly seen?: Readonly<Record<string, number>> };
      return seen?.token === undefined ? undefined : seen;
    },
    undefined,
    { timeout: 60_000, polling: 100 },
  );
  const { usable = 0, downloading = 0, loading = 0, ready = 0, token = 0 } = (await handle.jsonValue()) as Record<string, number>;
  return { usableMs: usable, downloadMs: downloading, loadMs: loading, readyMs: ready, tokenMs: token };
}

/** Notes times, and clicks on the first suggestion. Runs in the page before its own code. */
function watchPage(): void {
  const seen: Record<string, number> = {};
  Object.assign(globalThis, { seen });
  const note = (name: string | undefined): void => {
    if (name !== undefined && name !== "") seen[name] ??= performance.now();
  };
  const look = (): void => {
    const button = [...document.querySelectorAll("main button")].find(({ textContent }) => textContent.includes("little fox"));
    if (seen.usable === undefined && button instanceof HTMLElement) {
      note("usable");
      // As after a click of a user, who is not faster than the page.
      setTimeout(() => button.click(), 50);
    }
    note(document.querySelector('[data-testid="model-status"]')?.textContent.split(" ")[0]);
    if (document.querySelector("[data-role=assistant] .prose-answer")?.textContent.trim()) note("token");
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });
}
