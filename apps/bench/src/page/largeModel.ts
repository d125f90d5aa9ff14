import { statSync } from "node:fs";
import type { Page } from "./browser.ts";
import { type Line, serveOn } from "./host.ts";
import { peakMemory } from "./memory.ts";
import { openProfile } from "./profile.ts";

export interface LargeModelFigures {
  readonly fileBytes: number;
  /** Bytes that were sent again after the tab was closed at half of the download. */
  readonly againBytes: number;
  /** Memory that the processes of the browser took more than before, at most: while the model was downloaded and loaded … */
  readonly downloadPeakBytes: number;
  /** … and while the stored model was loaded. */
  readonly loadPeakBytes: number;
}

/**
 * Downloads a model in a page, closes its tab at half, goes on in a new one, and loads the stored model in a third one. On a line that is faster
 * than the page, the buffers of both sockets are full when the tab is closed, and their bytes count as downloaded again.
 */
export async function loadLarge(folder: string, line: Line, model: string, contextLength: number): Promise<LargeModelFigures> {
  const fileBytes = statSync(model).size;
  await using host = await serveOn({ folder, line, isIsolated: true, model });
  await using profile = await openProfile();
  const route = `#/about?backend=wasm&context=${contextLength}&model=${encodeURIComponent(`${host.url}model.gguf`)}`;
  const open = async (): Promise<Page> => {
    const page = await profile.context.newPage();
    page.setDefaultTimeout(300_000);
    await page.goto(host.url + route);
    await page.getByRole("button", { name: "Load", exact: true }).waitFor();
    return page;
  };
  const first = await open();
  await startLoad(first, contextLength);
  await first.waitForFunction(isHalf, undefined, { polling: 20 });
  await first.close();
  const second = await open();
  const download = await peakMemory(() => load(second, contextLength));
  const againBytes = host.modelBytes() - fileBytes;
  await second.close();
  const third = await open();
  const stored = await peakMemory(() => load(third, contextLength));
  return {
    fileBytes,
    againBytes,
    downloadPeakBytes: download.peakBytes - download.beforeBytes,
    loadPeakBytes: stored.peakBytes - stored.beforeBytes,
  };
}

async function startLoad(page: Page, contextLength: number): Promise<void> {
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await page.getByLabel("Context, in tokens").fill(String(contextLength));
  // The plan's button, which says whether the model is downloaded or stored.
  await page
    .locator("dialog")
    .getByRole("button", { name: /^(Download|Load)/ })
    .click();
}

async function load(page: Page, contextLength: number): Promise<void> {
  await startLoad(page, contextLength);
  await page.locator('[data-testid="model-status"]', { hasText: "ready" }).waitFor();
}

/** Whether half of a download is there. Runs in the page. */
function isHalf(): boolean {
  const progress = document.querySelector("progress");
  return progress !== null && progress.value > progress.max / 2;
}
