import type { Browser, Page } from "playwright-core";
import { serveSources } from "./sourceServer.ts";

/** A page that can import the packages by their names, with a storage and a cache of its own. */
export interface ServedPage extends AsyncDisposable {
  readonly page: Page;
  /** Ends in a slash. */
  readonly url: string;
}

export async function openPage(browser: Browser): Promise<ServedPage> {
  const server = await serveSources();
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.url);
  return {
    page,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await context.close();
      server.close();
    },
  };
}
