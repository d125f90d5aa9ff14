// Writes results as they finish, until the queue is empty: node collect.ts results.jsonl. Start it again to go on.
import { open } from "node:fs/promises";
import { argv } from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Job, Queue } from "bullmq";
import { type BatchRequest, type BatchResult, connection, queueName } from "./queue.ts";

/** Jobs that are read at once. */
const pageSize = 100;

/** Appends a line for each request that has ended, and takes it out of the queue. Returns the number of lines. */
export async function collect(path: string, pollMs = 500): Promise<number> {
  const queue = new Queue<BatchRequest, BatchResult>(queueName, { connection });
  await using file = await open(path, "a+");
  // A crash between a line and its removal would write the line twice.
  const written = new Set<string>();
  for await (const line of file.readLines({ autoClose: false, start: 0 })) written.add((JSON.parse(line) as BatchResult).custom_id);
  let lines = 0;
  try {
    for (;;) {
      const ended = await queue.getJobs(["completed", "failed"], 0, pageSize - 1, true);
      for (const job of ended) {
        if (!written.has(job.data.custom_id)) {
          await file.appendFile(`${JSON.stringify(resultOf(job))}\n`);
          written.add(job.data.custom_id);
          lines++;
        }
        await job.remove();
      }
      if (ended.length > 0) continue;
      if ((await queue.getJobCountByTypes("waiting", "active", "delayed", "completed", "failed")) === 0) return lines;
      await wait(pollMs);
    }
  } finally {
    await queue.close();
  }
}

/** A request that has failed has the server's error, or the one of the last try. */
function resultOf({ id, data, returnvalue, failedReason }: Job<BatchRequest, BatchResult | null>): BatchResult {
  return returnvalue ?? { id: id!, custom_id: data.custom_id, response: null, error: errorIn(failedReason) };
}

function errorIn(text: string): { readonly code: string; readonly message: string } {
  try {
    const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
    return { code, message };
  } catch {
    return { code: "failed", message: text };
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , path] = argv;
  if (path === undefined) throw new Error("collect: expected a file to write; node collect.ts results.jsonl");
  console.log(`${await collect(path)} results written`);
}
