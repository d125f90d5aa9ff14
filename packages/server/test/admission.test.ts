import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Admission, type Permit, stallMs, type Ticket } from "../src/admission/admission.ts";
import { CallerLoad } from "../src/admission/callerLoad.ts";
import { defaultLimits } from "../src/limits.ts";
import { Slot } from "../src/models/slots.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function ticket(given: Partial<Ticket> = {}): Ticket {
  return { caller: "a", priority: 0, tokens: 1, isAdmitted: false, signal: new AbortController().signal, ...given };
}

/** Asks for permits and lists the names of those that are granted. */
class Requests {
  readonly granted: string[] = [];
  readonly permits = new Map<string, Permit>();
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  async ask(name: string, given: Partial<Ticket> = {}): Promise<void> {
    const permit = await this.#admission.acquire(ticket(given));
    this.granted.push(name);
    this.permits.set(name, permit);
  }

  async release(name: string): Promise<void> {
    this.permits.get(name)!.release();
    await vi.advanceTimersByTimeAsync(0);
  }
}

test("as many run as there are slots, and callers take turns", async () => {
  const requests = new Requests(new Admission(1, defaultLimits));
  await requests.ask("a1");
  for (const name of ["a2", "a3", "b1", "b2"]) void requests.ask(name, { caller: name[0]! });
  for (const name of ["a1", "b1", "a2", "b2"]) await requests.release(name);
  expect(requests.granted).toEqual(["a1", "b1", "a2", "b2", "a3"]);
});

test("low priorities run first, and requests that run already before all others", async () => {
  const requests = new Requests(new Admission(1, defaultLimits));
  await requests.ask("first");
  void requests.ask("later", { priority: 5 });
  void requests.ask("urgent", { priority: -1 });
  void requests.ask("choice", { priority: 9, isAdmitted: true });
  for (const name of ["first", "choice", "urgent"]) await requests.release(name);
  expect(requests.granted).toEqual(["first", "choice", "urgent", "later"]);
});

test("a request waits for the slot that it names, and lets others run", async () => {
  const admission = new Admission(2, { ...defaultLimits, queueTimeoutMs: 1000 });
  const requests = new Requests(admission);
  const slot = new Slot(0);
  await requests.ask("holder", { slot });
  expect(slot.isProcessing).toBe(true);
  void requests.ask("named", { slot, priority: -1 });
  const late = expect(admission.acquire(ticket({ slot }))).rejects.toMatchObject({ status: 503, code: "queue_timeout" });
  await requests.ask("anonymous");
  slot.isProcessing = false;
  await requests.release("holder");
  expect(requests.granted).toEqual(["holder", "anonymous", "named"]);
  expect(slot.isProcessing).toBe(true);
  await vi.advanceTimersByTimeAsync(1000);
  await late;
});

test("a full queue refuses at once, by requests and by tokens", async () => {
  const admission = new Admission(1, { ...defaultLimits, maxQueue: 2, maxQueuedTokens: 10 });
  const requests = new Requests(admission);
  await requests.ask("running");
  void requests.ask("waiting", { tokens: 8 });
  await expect(admission.acquire(ticket({ tokens: 3 }))).rejects.toMatchObject({ status: 503, code: "queue_full", retryAfter: 1 });
  void requests.ask("small", { tokens: 2 });
  await expect(admission.acquire(ticket({ tokens: 0 }))).rejects.toMatchObject({ code: "queue_full" });
  await requests.release("running");
  // The tokens of those that no longer wait do not count.
  void requests.ask("next", { tokens: 8 });
  for (const name of ["waiting", "small"]) await requests.release(name);
  expect(requests.granted).toEqual(["running", "waiting", "small", "next"]);
});

test("a request that waits for too long is refused, and leaves the queue", async () => {
  const admission = new Admission(1, { ...defaultLimits, queueTimeoutMs: 1000 });
  await admission.acquire(ticket());
  const late = admission.acquire(ticket());
  const refused = expect(late).rejects.toMatchObject({ status: 503, code: "queue_timeout" });
  await vi.advanceTimersByTimeAsync(1000);
  await refused;
  // Nothing watches the queue.
  expect(vi.getTimerCount()).toBe(0);
});

test("an aborted request leaves the queue at once", async () => {
  const admission = new Admission(1, defaultLimits);
  await admission.acquire(ticket());
  const leaving = new AbortController();
  const waiting = admission.acquire(ticket({ signal: leaving.signal }));
  leaving.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  // Nothing watches the queue.
  expect(vi.getTimerCount()).toBe(0);
  await expect(admission.acquire(ticket({ signal: leaving.signal }))).rejects.toThrow("left");
});

test("a stream that nobody reads makes room for another request", async () => {
  const admission = new Admission(1, defaultLimits);
  const slow = await admission.acquire(ticket());
  slow.pause();
  const requests = new Requests(admission);
  void requests.ask("next");
  await vi.advanceTimersByTimeAsync(stallMs / 2);
  expect(requests.granted).toEqual([]);
  await vi.advanceTimersByTimeAsync(stallMs);
  expect(requests.granted).toEqual(["next"]);
  // It computes again, in the engine's queue, and no third request runs.
  slow.resume();
  void requests.ask("third");
  await requests.release("next");
  expect(requests.granted).toEqual(["next"]);
  slow.release();
  await vi.advanceTimersByTimeAsync(0);
  expect(requests.granted).toEqual(["next", "third"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a permit is released once", async () => {
  const admission = new Admission(1, defaultLimits);
  const permit = await admission.acquire(ticket());
  const requests = new Requests(admission);
  void requests.ask("b");
  void requests.ask("c");
  permit.release();
  permit.release();
  await vi.advanceTimersByTimeAsync(0);
  expect(requests.granted).toEqual(["b"]);
});

test("a caller has at most so many requests as its key allows", () => {
  const load = new CallerLoad();
  const leave = load.enter({ name: "a", maxRequests: 1 });
  expect(() => load.enter({ name: "a", maxRequests: 1 })).toThrow(expect.objectContaining({ status: 429, retryAfter: 1 }));
  load.enter({ name: "b", maxRequests: 1 });
  leave();
  leave();
  load.enter({ name: "a", maxRequests: 1 });
  expect(() => load.enter({ name: "a", maxRequests: 1 })).toThrow("at most 1");
});
