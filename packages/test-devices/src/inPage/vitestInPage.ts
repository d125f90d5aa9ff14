// What tests import as "vitest" in a page: assertions and spies are Vitest's own, tests are collected, and the page's script runs them.
import "./vitestState.ts";

export { expect, vi } from "vitest";

type Body = (...values: readonly unknown[]) => unknown;
type Hook = () => unknown;

interface Collected {
  readonly name: string;
  readonly body: Hook;
}

/** Result of a test in a page. */
export interface PageTest {
  readonly name: string;
  /** Stack of the error that it failed with. */
  readonly error?: string;
}

const collected: Collected[] = [];
const hooks = { beforeEach: [] as Hook[], afterEach: [] as Hook[], afterAll: [] as Hook[] };
const groups: string[] = [];

export const beforeEach = (hook: Hook): void => void hooks.beforeEach.push(hook);
export const afterEach = (hook: Hook): void => void hooks.afterEach.push(hook);
export const afterAll = (hook: Hook): void => void hooks.afterAll.push(hook);

function collect(name: string, body: Body): void {
  collected.push({ name: [...groups, name].join(" > "), body });
}

function group(name: string, body: Body): void {
  groups.push(name);
  body();
  groups.pop();
}

/** Calls `add` for each row, whose values take the places of `%s` in the name, and are the arguments of the body. */
function each(add: (name: string, body: Body) => void) {
  return (rows: readonly unknown[]) =>
    (name: string, body: Body): void => {
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row];
        let next = 0;
        add(
          name.replace(/%s/g, () => String(values[next++])),
          () => body(...values),
        );
      }
    };
}

export const test: typeof collect & { readonly each: ReturnType<typeof each> } = Object.assign(collect, { each: each(collect) });
export const describe: typeof group & { readonly each: ReturnType<typeof each> } = Object.assign(group, { each: each(group) });

/** Runs what was collected, one test after another. */
export async function runCollected(): Promise<readonly PageTest[]> {
  const results: PageTest[] = [];
  for (const { name, body } of collected) {
    const errors: unknown[] = [];
    const run = async (hook: Hook): Promise<void> => {
      try {
        await hook();
      } catch (error) {
        errors.push(error);
      }
    };
    for (const hook of hooks.beforeEach) await run(hook);
    if (errors.length === 0) await run(body);
    for (const hook of hooks.afterEach) await run(hook);
    results.push({ name, ...(errors.length > 0 && { error: errors.map(stackOf).join("\n") }) });
  }
  for (const hook of hooks.afterAll) await hook();
  return results;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
}
