import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { expect } from "vitest";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const screenshots = fileURLToPath(new URL("../build/screenshots", import.meta.url));

/** A browser profile, and what went wrong in its pages. */
export interface Profile extends AsyncDisposable {
  readonly context: BrowserContext;
  /** Errors of scripts, and refusals of the page's policy. */
  readonly problems: string[];
  /** Opens a page of the app, such as `chat?seed=1`. */
  open(route: string): Promise<Page>;
}

/**
 * Opens an empty profile. Service workers are blocked unless the options allow them: the first click would install one, and it downloads
 * all files.
 */
export async function openProfile(browser: Browser, url: string, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Profile> {
  const context = await browser.newContext({ acceptDownloads: true, serviceWorkers: "block", ...options });
  return { ...pagesIn(context, url), [Symbol.asyncDispose]: () => context.close() };
}

/** Pages of a profile that tests share: the model is stored already. Pages are closed with the result. */
export function shareProfile(context: BrowserContext, url: string): Profile {
  const shared = pagesIn(context, url);
  return {
    ...shared,
    async [Symbol.asyncDispose]() {
      for (const page of shared.pages) await page.close();
    },
  };
}

function pagesIn(context: BrowserContext, url: string) {
  const [problems, pages]: [string[], Page[]] = [[], []];
  const open = async (route: string): Promise<Page> => {
    const page = await context.newPage();
    pages.push(page);
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.setDefaultTimeout(60_000);
    await page.goto(`${url}#/${route}`);
    return page;
  };
  return { context, problems, pages, open };
}

/** Disables timers with this delay in all pages that the profile opens later. On a slow machine, they may fire before the next step. */
export async function disableTimers({ context }: Profile, delayMs: number): Promise<void> {
  await context.addInitScript((disabled) => {
    const { setTimeout: start } = globalThis;
    const startOthers = (run: () => void, ms?: number, ...args: unknown[]) => (ms === disabled ? 0 : start(run, ms, ...args));
    Object.assign(globalThis, { setTimeout: startOthers });
  }, delayMs);
}

/** Waits until the model is loaded. */
export async function modelReady(page: Page): Promise<void> {
  await page.locator('[data-testid="model-status"]', { hasText: "ready" }).waitFor();
}

/** Waits until the model is loaded. Visits the page again if its engine does not start, which happens in Firefox under WebDriver. */
export async function modelReadyInTheEnd(page: Page): Promise<void> {
  for (let visits = 1; visits < 5; visits++) {
    if (
      await modelReady(page)
        .then(() => true)
        .catch(() => false)
    )
      return;
    await page.reload();
  }
  await modelReady(page);
}

/** Types a text in place of what a field has. Playwright's own `fill` sets the value by a property in Firefox, which React takes no notice of. */
export async function fill(field: Locator, text: string): Promise<void> {
  await field.evaluate((element: HTMLInputElement | HTMLTextAreaElement, value) => {
    element.focus();
    element.select();
    document.execCommand(value === "" ? "delete" : "insertText", false, value);
  }, text);
}

/** Violations of accessibility on a page that has axe, as texts; of all rules, or of those named. None is what a test expects. */
function violations(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  return page.evaluate(
    async (options) => {
      const { axe: checker } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: readonly Violation[] }> } };
      interface Violation {
        readonly id: string;
        readonly help: string;
        readonly nodes: readonly { readonly html: string }[];
      }
      const result = await checker.run(options);
      return result.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join("\n")}`);
    },
    { resultTypes: ["violations"], ...(rules !== undefined && { runOnly: [...rules] }) },
  );
}

/**
 * Checks a page for accessibility, dark and light on a desktop and light on a phone, and keeps pictures of it in `build/screenshots`. Both
 * colours have the same markup, so light ones are only checked for contrast on a desktop. Firefox shows the same, and is not checked again.
 */
export async function checkLooks(page: Page, name: string): Promise<void> {
  if (page.context().browser()?.browserType().name() === "firefox") return;
  mkdirSync(screenshots, { recursive: true });
  await page.evaluate(axe);
  const before = page.viewportSize();
  const show = (theme: string): Promise<void> =>
    page.evaluate((value) => document.documentElement.setAttribute("data-theme", value), theme);
  await page.screenshot({ path: `${screenshots}/${name}.png` });
  await show("dark");
  await page.screenshot({ path: `${screenshots}/${name}-dark.png` });
  expect(await violations(page), `${name} in dark colours`).toEqual([]);
  await show("light");
  expect(await violations(page, ["color-contrast"]), `${name} in light colours`).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.screenshot({ path: `${screenshots}/${name}-phone.png` });
  expect(await violations(page), `${name} on a phone`).toEqual([]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width, `${name} on a phone scrolls to the side`).toBeLessThanOrEqual(360);
  if (before !== null) await page.setViewportSize(before);
}
