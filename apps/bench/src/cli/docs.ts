import { updateDocs } from "../docs/update.ts";
import { checkReceipt } from "../receipts/check.ts";
import { readReceipts, repositoryFolder, storedReceipts } from "../receipts/store.ts";
import { noPositionals, parse } from "./options.ts";

/** `pnpm bench docs [--check]` */
export async function docsCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { check: { type: "boolean" } });
  noPositionals(positionals);
  const stale = updateDocs({ write: values.check !== true });
  for (const path of stale)
    console.log(
      values.check === true ? `${path}: expected the tables of the receipts, got others; run pnpm bench docs` : `${path}: written`,
    );
  return values.check === true && stale.length > 0 ? 1 : 0;
}

/** `pnpm bench check [FILE…]` */
export async function checkCommand(args: readonly string[]): Promise<number> {
  const { positionals } = parse(args, {});
  const receipts =
    positionals.length === 0 ? storedReceipts() : positionals.flatMap((path) => readReceipts(path).map((receipt) => ({ path, receipt })));
  const problems = receipts.flatMap(({ path, receipt }) => checkReceipt(receipt, repositoryFolder).map((problem) => `${path}: ${problem}`));
  for (const problem of problems) console.error(problem);
  console.log(`${receipts.length} receipts checked, ${problems.length} problems`);
  return problems.length > 0 ? 1 : 0;
}
