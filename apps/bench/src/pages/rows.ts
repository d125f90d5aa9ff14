import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { trainedContext } from "../models/trainedContext.ts";
import type { Contestant, Metric, Row, Subject } from "../runner/subject.ts";
import type { BenchPage } from "./benchPage.ts";
import { type Browser, type LoadedPage, type PageProject, type Site, serveSite } from "./site.ts";

const promptTokens = 128;
const generatedTokens = 32;
const shortPrompt = 16;
const contextLength = promptTokens + generatedTokens + shortPrompt;

/** A project with a model and a number of threads. */
interface Setup {
  readonly name: string;
  readonly project: PageProject;
  readonly threads: number;
  readonly site: Site;
}

/** Rows of one browser, and what must be disposed of after them. */
export interface PageRows extends AsyncDisposable {
  readonly rows: readonly Row[];
}

/**
 * Rows of models in one browser: prompts and decoding of a loaded model, and first visits. One thread computes in a page without cross-origin
 * isolation, several in an isolated one.
 */
export async function pageRows(
  browser: Browser,
  projects: readonly PageProject[],
  models: readonly string[],
  threadCounts: readonly number[],
): Promise<PageRows> {
  const sites: Site[] = [];
  const rows: Row[] = [];
  for (const file of models) {
    const model = readFileSync(file);
    const room = Math.min(contextLength, await trainedContext(file));
    for (const threads of threadCounts) {
      const setups: Setup[] = [];
      for (const project of projects) {
        const site = await serveSite(browser, project, model, threads > 1);
        sites.push(site);
        setups.push({ name: project === "centella" ? "wasm" : project, project, threads, site });
      }
      rows.push(...rowsOf(`${basename(file, ".gguf")}`, setups, threads, room));
    }
  }
  return {
    rows,
    async [Symbol.asyncDispose]() {
      for (const site of sites) await site[Symbol.asyncDispose]();
    },
  };
}

function rowsOf(model: string, setups: readonly Setup[], threads: number, room: number): readonly Row[] {
  const pages = setups.map((setup) => sharedPage(setup, room));
  const visits = setups.map((setup) => visitsOf(setup, room));
  const row = (test: string, metric: Metric, tokens: number, isCold: boolean, subjectOf: (index: number) => Promise<Subject>): Row => ({
    id: `${model} ${test}, ${threads} ${threads === 1 ? "thread" : "threads"}`,
    metric,
    bound: "none",
    work: { tokens },
    data: "-",
    isLarge: false,
    isCold,
    contestants: setups.map(
      ({ name, project }, index): Contestant => ({
        name,
        side: project === "centella" ? "ours" : "peer",
        threads,
        prepare: () => subjectOf(index),
      }),
    ),
    verify: () => undefined,
  });
  const onPage = (seconds: (page: BenchPage) => Promise<number>) => async (index: number) => {
    const page = pages[index]!;
    const opened = await page.acquire();
    return unchecked(() => seconds(opened), page.release);
  };
  const onVisit = (figure: keyof Visit) => async (index: number) => {
    const next = visits[index]!();
    return unchecked(async () => (await next())[figure]);
  };
  return [
    row(
      `pp${promptTokens}`,
      "tokens/s",
      promptTokens,
      false,
      onPage((page) => page.prefill(promptOf(promptTokens))),
    ),
    row(
      `tg${generatedTokens}`,
      "tokens/s",
      generatedTokens,
      false,
      onPage((page) => page.decode(promptOf(shortPrompt), generatedTokens)),
    ),
    row("load", "ms", 1, true, onVisit("load")),
    row("load and first token", "ms", 1, true, onVisit("firstToken")),
  ];
}

/** A subject whose results are not compared: other tests hold the texts of all engines to each other. */
function unchecked(seconds: () => Promise<number>, dispose: () => Promise<void> = async () => undefined): Subject {
  return {
    async sample(calls) {
      let total = 0;
      for (let i = 0; i < calls; i++) total += await seconds();
      return total;
    },
    result: async () => undefined,
    dispose,
  };
}

/** One page with the loaded model, for all rows that use it. */
function sharedPage({ site, threads }: Setup, room: number): { acquire(): Promise<BenchPage>; release(): Promise<void> } {
  let users = 0;
  let opening: Promise<LoadedPage> | undefined;
  return {
    acquire() {
      users++;
      opening ??= site.visit(room, threads);
      return opening;
    },
    async release() {
      users--;
      if (users > 0) return;
      const page = await opening;
      opening = undefined;
      await page?.[Symbol.asyncDispose]();
    },
  };
}

/** Seconds of a first visit: from the start of loading until a prompt can be sent, and until the first token of a short one. */
interface Visit {
  readonly load: number;
  readonly firstToken: number;
}

/** Readers of a series of first visits. Each reader gets all of them in order; a visit is made when the first reader asks for it. */
function visitsOf({ site, threads }: Setup, room: number): () => () => Promise<Visit> {
  const made: Promise<Visit>[] = [];
  const visit = async (): Promise<Visit> => {
    await using page = await site.visit(room, threads);
    const load = page.loadSeconds;
    return { load, firstToken: load + (await page.firstToken(promptOf(shortPrompt))) };
  };
  return () => {
    let read = 0;
    return () => (made[read++] ??= visit());
  };
}

function promptOf(tokens: number): readonly number[] {
  return Array.from({ length: tokens }, (_, i) => 5 + ((i * 37) % 4000));
}
