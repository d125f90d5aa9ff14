import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArgumentError, type Backend } from "@centella/core";
import { afterEach, expect, test } from "vitest";
import { capabilitiesOf, guaranteed } from "../../src/device/capabilities.ts";
import { fullName } from "../../src/device/device.ts";
import { type TuningStore, tuningFile, webgpu } from "../../src/index.ts";
import { hasForms, inForm } from "../../src/tuning/tuning.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openUnguarded } from "../support/openBackend.ts";
import { Dispatches } from "../wgsl/kernelTexts.ts";
import { expectClose, layers, load, otherFormsOf, results } from "./tunedLayers.ts";

/** A store that counts its writes. */
class CountingStore extends Map<string, string> implements TuningStore {
  writes = 0;

  override set(key: string, value: string): this {
    this.writes++;
    return super.set(key, value);
  }
}

// Unguarded, because forms are timed, and sizes of buffers are counted.
await describeOpened("tuning", openUnguarded(), ({ backend: probe, device, gpu }) => {
  const opened: Backend[] = [probe];
  const open = async (...options: Parameters<typeof openUnguarded>): Promise<Backend> => {
    const { backend } = await openUnguarded(...options);
    opened.push(backend);
    return backend;
  };
  afterEach(async () => {
    for (const backend of opened.splice(0)) await backend.dispose();
  });

  // Compilers of software take a fraction of a second for each form.
  const program = layers({ dtype: "f16", activations: "f32", most: 1, depth: 64 });
  // As many bytes as three more layers.
  program.output("z", program.relu(program.persistent("other", { dtype: "f32", shape: [36, 64] })));

  test("forms are timed once the weights are loaded, and the choice is kept", async () => {
    const store = new CountingStore();
    const { backend, device: tuned } = await openUnguarded({ tuning: store });
    opened.push(backend);
    const plan = await backend.compile(program);
    expect(store.size).toBe(0);
    const sizes: number[] = [];
    const createBuffer = tuned.createBuffer.bind(tuned);
    tuned.createBuffer = (descriptor) => {
      sizes.push(descriptor.size);
      return createBuffer(descriptor);
    };
    await load(plan);
    // Forms are timed on as many bytes as the plan has, so that these are not in a cache.
    expect(sizes.filter((size) => size === 24 * 64 * 2).length).toBe(3);
    const own = await results(await load(await probe.compile(program)), 1);
    expectClose(await results(plan, 1), own);
    // Both layers have one text.
    const [[key, chosen] = [], ...others] = store;
    expect(others).toEqual([]);
    expect(key).toMatch(/SwiftShader.* \| 1 row of 64 by f16 of 24: floats \| \w+$/);
    // A plan that shares loaded weights reads the choice.
    await backend.compile(program, { shareWith: plan });
    expect(store.writes).toBe(1);

    const adapter = (await gpu.requestAdapter())!;
    const forms = otherFormsOf(program, capabilitiesOf(device, adapter, gpu, []), fullName(adapter.info)).get(key!)!;
    expect(forms.length).toBeGreaterThan(4);
    for (const [stored, writes] of [
      [forms.find((name) => name !== chosen)!, 1],
      ["1 lane, 0 per column", 2],
    ] as const) {
      Map.prototype.set.call(store, key, stored);
      // The store fails when it is written to.
      const failing = {
        get: (of: string) => store.get(of),
        set: (of: string, value: string) => {
          store.set(of, value);
          throw new Error("the quota is used up");
        },
      };
      const again = await load(await (await open({ tuning: failing })).compile(program));
      expectClose(await results(again, 1), own);
      expect(store.writes).toBe(writes);
    }
  });

  test("a device without timestamps keeps its forms and says so", async () => {
    const store = new CountingStore();
    const backend = await open({ tuning: store, disabledFeatures: ["timestamp-query"] });
    const plan = await load(await backend.compile(program));
    expect(store.size).toBe(0);
    expect(plan.warnings).toEqual([expect.stringMatching(/^webgpu: 2 products are not tuned: .* has no feature "timestamp-query"/)]);
  });
});

test("forms have the bindings and uniform fields of their dispatch, and run for the same extents", () => {
  const capabilities = { ...guaranteed, subgroups: { min: 32, max: 32 }, packedDotProducts: true, maxLanes: 1024, workgroupBytes: 2 ** 15 };
  const program = layers({ dtype: "q4_K", activations: "ggml", most: 40, depth: 256 });
  const formed = new Dispatches(capabilities).ofProgram(program).flatMap(({ dispatch }) => (hasForms(dispatch) ? [dispatch] : []));
  // One row, up to four, up to eight, up to 32, and more, for each layer.
  expect(formed.length).toBe(10);
  for (const dispatch of formed) {
    for (const name of dispatch.forms().others) {
      const { bindings, uniforms } = dispatch.forms().form(name) as typeof dispatch;
      expect(bindings).toEqual(dispatch.bindings);
      expect(uniforms).toEqual(dispatch.uniforms);
      expect(inForm(dispatch, name).code).not.toBe(dispatch.code);
      for (const T of [1, 2, 4, 5, 8, 9, 33, 40]) {
        const [own, other] = [dispatch.sizeIn({ T }), inForm(dispatch, name).sizeIn({ T })];
        expect(other.groups > 0).toBe(own.groups > 0);
        expect(Object.keys(other.values)).toEqual(Object.keys(own.values));
      }
    }
  }
});

test("a file keeps choices, and one that is damaged is empty", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tuning "));
  try {
    const path = join(folder, "forms.json");
    const store = tuningFile(path);
    expect(await store.get("a")).toBeUndefined();
    await Promise.all([store.set("a", "1"), store.set("b", "2"), store.set("a", "3")]);
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ a: "3", b: "2" });
    expect(await tuningFile(path).get("b")).toBe("2");
    await writeFile(path, "{ half");
    expect(await store.get("a")).toBeUndefined();
    await store.set("c", "4");
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ c: "4" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("wrong stores are refused", () => {
  expect(() => webgpu({ tuning: {} as never })).toThrow(/^webgpu: expected tuning to be a store with get and set, got/);
  expect(() => tuningFile("")).toThrow(ArgumentError);
});
