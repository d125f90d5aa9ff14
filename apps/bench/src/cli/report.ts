import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { launchChromium } from "@centella/test-devices";
import { repositoryFolder, storedReceipts } from "../receipts/store.ts";
import { reportData } from "../report/data.ts";
import { dataText, reportPage } from "../report/page.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse } from "./options.ts";

/** The committed page. */
export const reportFile: string = join(repositoryFolder, "docs", "benchmarks.html");

/** Committed pictures with their size in pixels and colour scheme. */
const pictures = [
  { file: "benchmarks.png", width: 960, height: 1100, colorScheme: "light" },
  { file: "benchmarks-phone.png", width: 390, height: 1100, colorScheme: "dark" },
] as const;

/** `pnpm bench report [--out FILE] [--check] [--pictures]`: one static page of all receipts, and two pictures of it. */
export async function reportCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { out: { type: "string" }, check: { type: "boolean" }, pictures: { type: "boolean" } });
  noPositionals(positionals);
  const out = values.out ?? reportFile;
  const data = reportData(storedReceipts().map(({ receipt }) => receipt));
  if (values.check === true) {
    if (isOfReceipts(out)) return 0;
    console.error(`${relative(repositoryFolder, out)}: expected the page of the committed receipts, got another; run pnpm bench report`);
    return 1;
  }
  writeFileSync(out, await reportPage(data));
  console.log(`${relative(process.cwd(), out)}: written`);
  if (values.pictures === true) await takePictures(out);
  return 0;
}

/** Whether a page shows the committed receipts, no more and no less. */
export function isOfReceipts(path: string): boolean {
  const data = reportData(storedReceipts().map(({ receipt }) => receipt));
  return readFileSync(path, "utf8").includes(`id="data">${dataText(data)}</script>`);
}

/** @throws {UsageError} where no browser runs */
async function takePictures(page: string): Promise<void> {
  const browser = await launchChromium();
  if (typeof browser === "string") throw new UsageError(`report --pictures: ${browser}`);
  try {
    for (const { file, width, height, colorScheme } of pictures) {
      const tab = await browser.newPage({ viewport: { width, height }, colorScheme });
      await tab.goto(pathToFileURL(page).href);
      await tab.waitForSelector("figure[data-plot] svg");
      await tab.screenshot({ path: join(repositoryFolder, "docs", file) });
      console.log(`docs/${file}: written`);
    }
  } finally {
    await browser.close();
  }
}
