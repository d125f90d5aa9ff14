import { describeCommit, describeMachine } from "../machine.ts";
import { type Receipt, receiptVersion } from "./receipt.ts";
import { repositoryFolder } from "./store.ts";

/** What a receipt says of its run before any row is measured. */
export type ReceiptHead = Pick<Receipt, "version" | "suite" | "date" | "commit" | "machine" | "command">;

/** @throws {Error} without git and `BENCH_COMMIT` */
export function receiptHead(suite: string, command: string): ReceiptHead {
  return {
    version: receiptVersion,
    suite,
    date: new Date().toISOString(),
    commit: describeCommit(repositoryFolder),
    machine: describeMachine(),
    command,
  };
}
