import { once } from "node:events";
import { createServer } from "node:net";
import { launchChromium } from "@centella/test-devices";
import { loadPeer } from "../peers/load.ts";
import { median } from "../stats/bootstrap.ts";
import { UsageError } from "../usageError.ts";
import { type HostOptions, serveOn } from "./host.ts";

/** Lighthouse's presets: a phone on a mobile network, and a desktop. Both are simulated. */
export const presets = ["mobile", "desktop"] as const;

/** Scores of 100 at most. Performance is the median of the runs, accessibility the least. */
export interface PageScores {
  readonly page: string;
  readonly preset: (typeof presets)[number];
  readonly performance: number;
  readonly accessibility: number;
}

/** The part of Lighthouse that is used. */
interface Lighthouse {
  readonly default: (url: string, flags: object, config?: object) => Promise<{ readonly lhr: Report } | undefined>;
  readonly desktopConfig: object;
}

interface Report {
  readonly categories: Readonly<Record<"performance" | "accessibility", { readonly score: number | null }>>;
}

/**
 * Lighthouse's scores of pages at their first visit. `paths` are below the folder's address.
 * @throws {Skip} if Lighthouse is not installed
 * @throws {UsageError} where Chromium does not run
 */
export async function scorePages(options: HostOptions, paths: readonly string[], runs: number): Promise<readonly PageScores[]> {
  const lighthouse = (await loadPeer("lighthouse")) as Lighthouse;
  const port = await freePort();
  const browser = await launchChromium([`--remote-debugging-port=${port}`]);
  if (typeof browser === "string") throw new UsageError(browser);
  await using host = await serveOn(options);
  const scores: PageScores[] = [];
  try {
    for (const path of paths) {
      for (const preset of presets) {
        const reports: Report[] = [];
        for (let run = 0; run < runs; run++) reports.push(await report(lighthouse, host.url + path, preset, port));
        const of = (category: keyof Report["categories"]): readonly number[] =>
          reports.map(({ categories }) => Math.round(100 * (categories[category].score ?? 0)));
        scores.push({ page: path, preset, performance: median(of("performance")), accessibility: Math.min(...of("accessibility")) });
      }
    }
  } finally {
    await browser.close();
  }
  return scores;
}

async function report(lighthouse: Lighthouse, url: string, preset: (typeof presets)[number], port: number): Promise<Report> {
  const flags = { port, onlyCategories: ["performance", "accessibility"], logLevel: "error" };
  const result = await lighthouse.default(url, flags, preset === "desktop" ? lighthouse.desktopConfig : undefined);
  if (result === undefined) throw new Error(`lighthouse: expected a report of ${url}, got none`);
  return result.lhr;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("lighthouse: expected a port");
  return address.port;
}
