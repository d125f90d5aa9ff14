// Adds the requests of a file to the queue: node produce.ts requests.jsonl [MAX]
import { open } from "node:fs/promises";
import { argv } from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Queue } from "bullmq";
import { type BatchRequest, connection, queueName, retries } from "./queue.ts";

/** Adds requests, and waits while as many as `maxWaiting` wait. A request whose `custom_id` is in the queue is not added again. */
export async function produce(requests: AsyncIterable<BatchRequest>, maxWaiting: number, pollMs = 500): Promise<number> {
  const queue = new Queue<BatchRequest>(queueName, { connection });
  let added = 0;
  try {
    for await (const request of requests) {
      while ((await queue.getWaitingCount()) >= maxWaiting) await wait(pollMs);
      await queue.add("request", request, { ...retries, jobId: `request-${request.custom_id}` });
      added++;
    }
    return added;
  } finally {
    await queue.close();
  }
}

async function* requestsOf(path: string): AsyncGenerator<BatchRequest, void, undefined> {
  await using file = await open(path);
  for await (const line of file.readLines()) if (line.trim() !== "") yield JSON.parse(line) as BatchRequest;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , path, max = "1000"] = argv;
  if (path === undefined) throw new Error("produce: expected a file of requests; node produce.ts requests.jsonl [MAX]");
  console.log(`${await produce(requestsOf(path), Number(max))} requests added`);
}
