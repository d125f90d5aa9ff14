import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";

const examples = fileURLToPath(new URL("..", import.meta.url));

/** Starts a Chromium with the extension of a folder of the examples, in a new profile. */
export async function openExtension(
  executablePath: string,
  folder: string,
  profile: string,
): Promise<{ openPage(path: string): Promise<Page> } & AsyncDisposable> {
  // The options are lists: paths may have no commas.
  const path = join(profile, "extension");
  symlinkSync(join(examples, folder), path);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: ["--no-sandbox", "--headless=new", `--disable-extensions-except=${path}`, `--load-extension=${path}`],
  });
  // The default of 30 s is too short on a busy machine.
  context.setDefaultTimeout(180_000);
  const [worker = await context.waitForEvent("serviceworker")] = context.serviceWorkers();
  const url = new URL(worker.url());
  return {
    async openPage(path) {
      const page = await context.newPage();
      await page.goto(new URL(path, url).href);
      return page;
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
