import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { requireProgram, runProgram } from "./programs.ts";

const folder = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(join(folder, "monitoring", path), "utf8");

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

function temporaryFolder(parent = tmpdir()): string {
  const made = mkdtempSync(join(parent, "centella-monitoring-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

/** Grafana's own types, with the texts of enums, and with Prometheus's queries in place of any source's. */
const types = `import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";
type Stored<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: K extends "targets" ? Queries : Stored<T[K]> } : T;
type Queries = Stored<Omit<Dataquery, "_implementsDataqueryVariant">>[];
`;

test("the dashboard has Grafana's types", () => {
  // Where imports find the types.
  const path = join(temporaryFolder(join(folder, "node_modules")), "dashboard.ts");
  const errorsOf = (dashboard: string): string => {
    writeFileSync(path, `${types}export const dashboard: Stored<Dashboard> = ${dashboard};`);
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--ignoreConfig", "--module", "nodenext", "--pretty", "false"];
    return spawnSync("tsc", [...options, path], { encoding: "utf8" }).stdout;
  };
  const dashboard = read("grafana.json");
  expect(errorsOf(dashboard)).toBe("");
  expect(errorsOf(dashboard.replace('"expr"', '"expression"'))).toMatch(/'"expression"' does not exist/);
  expect(errorsOf(dashboard.replace('"type": "datasource"', '"type": "source"'))).toMatch(/'"source"' is not assignable/);
});

test("Prometheus accepts its file", (context) => {
  requireProgram("promtool", context);
  const made = temporaryFolder();
  const [path, key] = [join(made, "prometheus.yaml"), join(made, "key")];
  writeFileSync(key, "secret");
  writeFileSync(path, read("prometheus.yaml").replace(/(?<=credentials_file: ).*/, key));
  runProgram("promtool", ["check", "config", path]);
});

test("Prometheus understands each expression of the dashboard", (context) => {
  requireProgram("promtool", context);
  const path = join(temporaryFolder(), "rules.yaml");
  const { panels } = JSON.parse(read("grafana.json")) as { readonly panels: readonly Panel[] };
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m")));
  const check = (given: readonly string[]): void => {
    const rules = given.map((expr, i) => ({ record: `expression${i}`, expr }));
    writeFileSync(path, stringify({ groups: [{ name: "dashboard", rules }] }));
    runProgram("promtool", ["check", "rules", path]);
  };
  check(expressions);
  expect(() => check([`${expressions[0]!})`])).toThrow(/unexpected right parenthesis/);
});
