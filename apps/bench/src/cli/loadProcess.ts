import { backendsWith } from "../backends.ts";
import { runLoadProcess } from "../models/loadProcess.ts";
import { oursModel } from "../models/ours.ts";
import { peers } from "../peers/index.ts";
import { UsageError } from "../usageError.ts";

/** `bench load-process NAME FILE [THREADS]`, which the load suite starts. Imports little: a large heap slows a load down. */
export async function loadProcessCommand([name, file, threadCount = "1"]: readonly string[]): Promise<number> {
  const threads = Number(threadCount);
  const backend = backendsWith(threads).find(({ factory }) => factory.name === name);
  if (file === undefined) throw new UsageError("load-process: expected NAME FILE [THREADS]");
  if (backend !== undefined) return runLoadProcess(oursModel(backend.factory, backend.threads), file);
  const adapter = peers.find((peer) => peer.name === name);
  if (adapter === undefined) throw new UsageError(`load-process: expected a backend or a peer, got ${name}`);
  const peer = await adapter.open({ threads });
  try {
    return await runLoadProcess(peer.model!, file);
  } finally {
    await peer.dispose();
  }
}
