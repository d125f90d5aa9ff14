import { elementAt } from "@centella/quant/checks";
import { isAncestor } from "../machine.ts";
import { deriveRow } from "./derive.ts";
import { type Receipt, receiptVersion } from "./receipt.ts";

/** Minimum number of samples of each subject in a row. */
const minSamples = 10;

/**
 * Defects of a receipt: figures that do not follow from its samples, too few samples, wrong results, a dirty commit, or a commit that is
 * not an ancestor of main (unchecked in a clone without history).
 */
export function checkReceipt(receipt: Receipt, repository: string): readonly string[] {
  const problems: string[] = [];
  if (receipt.version !== receiptVersion) return [`version: expected ${receiptVersion}, got ${receipt.version}; measure again`];
  const { commit, suite } = receipt;
  if (!commit.isClean) problems.push(`commit ${commit.sha}: expected a clean tree, got local changes; commit them and measure again`);
  if (isAncestor(repository, commit.sha) === false)
    problems.push(`commit ${commit.sha}: expected an ancestor of main, got none; measure on main`);
  for (const row of receipt.rows) {
    const derived = deriveRow(suite, row);
    row.subjects.forEach((subject, i) => {
      const where = `${suite} ${row.id} ${subject.name}`;
      if (subject.failed !== undefined) problems.push(`${where}: failed: ${subject.failed}`);
      if (subject.samples !== undefined && subject.samples.flat().length < minSamples)
        problems.push(`${where}: expected at least ${minSamples} samples, got ${subject.samples.flat().length}`);
      const { time, ratios } = elementAt(derived.subjects, i);
      if (JSON.stringify([subject.time, subject.ratios]) !== JSON.stringify([time, ratios])) {
        problems.push(
          `${where}: expected ${JSON.stringify({ time, ratios })} from the samples, got ${JSON.stringify({ time: subject.time, ratios: subject.ratios })}`,
        );
      }
    });
  }
  return problems;
}
