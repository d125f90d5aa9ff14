import { join } from "node:path";
import { type Figure, judge, readBudgets, type Verdict, verdictTable } from "../budgets/budget.ts";
import { allFigures } from "../budgets/figures.ts";
import { appFolder } from "../receipts/store.ts";
import { noPositionals, parse } from "./options.ts";

const defaultFile = join(appFolder, "budgets.json");

/**
 * `pnpm bench budgets [--file FILE]`. A figure of a backend that `REQUIRE_BACKENDS` names must be measured; elsewhere it may be
 * skipped with its reason.
 */
export async function budgetsCommand(args: readonly string[], figures: readonly Figure[] = allFigures()): Promise<number> {
  const { values, positionals } = parse(args, { file: { type: "string" } });
  noPositionals(positionals);
  const budgets = readBudgets(values.file ?? defaultFile, figures);
  const verdicts: Verdict[] = [];
  for (const figure of figures) {
    const reading = await figure.measure();
    for (const budget of budgets) if (budget.figure === figure.name) verdicts.push(judge(budget, figure, reading));
  }
  console.log(verdictTable(verdicts));
  const required = process.env.REQUIRE_BACKENDS?.split(",") ?? [];
  const problems = verdicts.flatMap(({ broken, figure: { name, backend }, reading }) => {
    if (broken !== undefined) return [broken];
    return "skipped" in reading && backend !== undefined && required.includes(backend)
      ? [`${name}: REQUIRE_BACKENDS names ${backend}, but it was skipped: ${reading.skipped}`]
      : [];
  });
  for (const problem of problems) console.error(`budget: ${problem}`);
  console.log(`\n${verdicts.length} budgets, ${problems.length} broken`);
  return problems.length > 0 ? 1 : 0;
}
