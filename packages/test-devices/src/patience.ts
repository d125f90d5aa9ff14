import type { Browser } from "playwright-core";

/** How long tests wait for a page, in milliseconds. On a busy machine, each process may pause for seconds. */
export const patienceMs = 180_000;

/** Sets the time limit of all waits in pages of a browser to {@link patienceMs}. Playwright's default is 30 s. */
export function patient(browser: Browser): Browser {
  return browser.on("context", (context) => context.setDefaultTimeout(patienceMs));
}
