import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { fileName, javascriptModule, moduleName, type Snippet, typescriptModules } from "./snippets.ts";

const run = promisify(execFile);

/** A backend of the reader's own. It has few ops, so that the conformance suite takes seconds. Some programs of the suite need argmax. */
const ownBackend = `
import { type BackendFactory, reference } from "@centella/core";
import type { AnyOp } from "@centella/core/backend";

function unsupported({ name, elementwise, alias }: AnyOp): string | undefined {
  return elementwise || alias || name === "argmax" ? undefined : "no kernel";
}

export function mine(): BackendFactory {
  const { open, ...factory } = reference();
  return { ...factory, open: async () => Object.assign(await open(), { unsupported }) };
}
`;

/** A reader's project, next to the built code so that the packages are found: the snippets as modules in `test`, and programs of them. */
export class Project implements Disposable {
  readonly #root: string;
  readonly #folder: string;
  readonly #project: string;

  constructor(root: string) {
    this.#root = root;
    const parent = join(root, "apps/bench/dist");
    mkdirSync(parent, { recursive: true });
    this.#project = mkdtempSync(join(parent, "readmes-"));
    this.#folder = join(this.#project, "test");
    this.#write("src/index.ts", ownBackend);
    this.#write("src/index.js", javascriptModule(ownBackend));
  }

  /** Adds snippets of one README that run in one place. */
  add(snippets: readonly Snippet[]): void {
    for (const [snippet, module] of typescriptModules(snippets)) {
      this.#write(`test/${moduleName(snippet)}.mts`, module);
      this.#write(`test/${moduleName(snippet)}.mjs`, javascriptModule(module));
    }
  }

  /** The module of a snippet. */
  pathOf(snippet: Snippet): string {
    return join(this.#folder, `${moduleName(snippet)}.mts`);
  }

  /** What the compiler says of all modules. */
  async typeErrors(): Promise<string> {
    const checks = { strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true };
    const compilerOptions = { ...checks, target: "esnext", module: "nodenext", types: ["node", "dom-chromium-ai"] };
    this.#write("test/tsconfig.json", JSON.stringify({ compilerOptions, include: ["*.mts"] }));
    const tsc = join(this.#root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", this.#folder]).catch((error: { readonly stdout: string }) => error);
    return stdout;
  }

  /** Runs snippets one after the other in one process and returns what each printed, by its name. @throws if anything goes to stderr */
  async run(
    snippets: readonly Snippet[],
    {
      node,
      preloads,
      models,
      server,
    }: {
      readonly node: string;
      readonly preloads: readonly string[];
      /** Files that snippets open, by name. */
      readonly models: Readonly<Record<string, Uint8Array>>;
      readonly server: URL;
    },
  ): Promise<ReadonlyMap<string, string>> {
    const cwd = mkdtempSync(join(this.#project, "run-"));
    for (const [name, bytes] of Object.entries(models)) writeFileSync(join(cwd, name), bytes);
    const program = join(cwd, "program.mjs");
    const steps = snippets.map((snippet) => [
      `process.stdout.write("\\0${snippet.name}\\n");`,
      `await import("../test/${moduleName(snippet)}.mjs");`,
    ]);
    writeFileSync(program, steps.flat().join("\n"));
    const flags = preloads.flatMap((name) => ["--import", new URL(name, import.meta.url).href]);
    const env = { ...process.env, README_SERVER: server.href, XDG_CACHE_HOME: join(cwd, "cache"), NODE_OPTIONS: "" };
    const { stdout, stderr } = await run(node, [...flags, program], { cwd, env });
    if (stderr !== "") throw new Error(stderr);
    const outputs = stdout
      .split("\0")
      .slice(1)
      .map((part) => part.split(/\n(.*)/s));
    return new Map(outputs.map(([name, output]) => [name!, output!]));
  }

  /** Runs a snippet that is a file of tests, and returns what vitest says. */
  async runTests(snippet: Snippet): Promise<string> {
    this.#write(fileName(snippet)!, snippet.code);
    const vitest = join(this.#root, "node_modules/vitest/vitest.mjs");
    const { stdout } = await run(process.execPath, [vitest, "run", "--root", this.#project], {
      env: { ...process.env, NO_COLOR: "1" },
      maxBuffer: 2 ** 26,
    });
    return stdout;
  }

  [Symbol.dispose](): void {
    rmSync(this.#project, { recursive: true, force: true });
  }

  #write(name: string, text: string): void {
    const path = join(this.#project, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
