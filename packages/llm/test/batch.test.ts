import { describe, expect, test, vi } from "vitest";
import type { Sequence } from "../src/cache/sequence.ts";
import { type BatchLimits, deliver, nextSlices, readRows } from "../src/scheduler/batch.ts";
import { type FeedOptions, Request } from "../src/scheduler/request.ts";

const limits: BatchLimits = { batchSize: 8, maxRows: 4, isEncoder: false };

function request(
  tokens: number,
  options: FeedOptions,
  { done = 0, output = { kind: "values", values: new Float32Array(0) } }: Partial<Pick<Request, "done" | "output">> = {},
): Request {
  const ids = Array.from({ length: tokens }, (_, i) => i);
  return Object.assign(new Request({ sequence: {} as Sequence, ids, options, output }, 0, 0), { done });
}

/** Tokens and rows of each request in the next run, in the order of the requests. */
function planned(requests: readonly Request[], changes: Partial<BatchLimits> = {}): readonly (readonly [number, number] | undefined)[] {
  const slices = nextSlices(requests, { ...limits, ...changes });
  return requests.map((wanted) => {
    const slice = slices.find((candidate) => candidate.request === wanted);
    return slice && [slice.count, slice.rows];
  });
}

describe("the next run", () => {
  test("has single tokens first and fills up with a part of a prompt, which gives no rows yet", () => {
    expect(planned([request(20, { rows: "last" }), request(1, { rows: "last" }), request(1, { rows: "last" })])).toEqual([
      [6, 0],
      [1, 1],
      [1, 1],
    ]);
  });

  test("has the rest of a prompt, whose last token gives a row", () => {
    expect(planned([request(20, { rows: "last" }, { done: 15 })])).toEqual([[5, 1]]);
  });

  test("is limited by its rows where every token gives one", () => {
    expect(planned([request(6, { rows: "all" })])).toEqual([[4, 4]]);
  });

  test("has a draft as a whole or not at all", () => {
    const draft = request(4, { rows: "all", isDraft: true });
    expect(planned([draft, request(1, { rows: "last" })])).toEqual([undefined, [1, 1]]);
    expect(planned([draft])).toEqual([[4, 4]]);
  });

  test("has texts of an encoder as a whole or not at all", () => {
    expect(planned([request(5, { rows: "none" }), request(6, { rows: "none" })], { isEncoder: true })).toEqual([[5, 0], undefined]);
  });

  test("first has the requests that the runs before had no room for", () => {
    const draft = request(4, { rows: "all", isDraft: true });
    expect(planned([draft, request(1, { rows: "last" })])[0]).toBeUndefined();
    expect(draft.skipped).toBe(1);
    expect(planned([draft, request(1, { rows: "last" })])).toEqual([[4, 4], undefined]);
    expect(draft.skipped).toBe(0);
  });
});

describe("the rows of a run", () => {
  const output = (data: Float32Array | Int32Array) => ({ data: vi.fn(async () => data), dispose: vi.fn() });
  const values = request(1, { rows: "last" }, { output: { kind: "values", values: new Float32Array(2) } });
  const sampling = { seed: [0, 0], temperature: 0, topK: 0, topP: 1, minP: 0 } as const;
  const choosing = request(
    2,
    { rows: "all" },
    { output: { kind: "tokens", tokens: new Int32Array(2), choice: { sampling, position: 3 } } },
  );

  test("of requests for tokens leave the logits on the device", async () => {
    const outputs = { logits: output(new Float32Array(0)), chosen: output(Int32Array.of(7)) };
    const slices = [{ request: choosing, count: 1, rows: 1 }];
    const rows = await readRows({ slices, outputs }, "logits");
    expect(rows).toEqual({ values: new Float32Array(0), tokens: Int32Array.of(7) });
    expect(outputs.logits.data).not.toHaveBeenCalled();
    for (const { dispose } of Object.values(outputs)) expect(dispose).toHaveBeenCalledOnce();
  });

  test("go to the requests that read them", () => {
    const slices = [
      { request: choosing, count: 2, rows: 2 },
      { request: values, count: 1, rows: 1 },
    ];
    deliver(slices, { values: Float32Array.of(8, 9), tokens: Int32Array.of(4, 5, 6) }, 2);
    expect(choosing.output).toMatchObject({ tokens: Int32Array.of(4, 5) });
    expect(values.output).toMatchObject({ values: Float32Array.of(8, 9) });
  });
});
