import { type Backend, createProgram, type Dim, OutOfMemoryError, type Program } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { webgpu } from "../../src/index.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { type Limits, limited } from "../support/limitedGpu.ts";
import { openBackend } from "../support/openBackend.ts";

const limit = 2 ** 18;
/** Elements of f32 in twice the limit. */
const many = 2 ** 17;

await describeOpened("tensors over the limit of a binding", openBackend(), ({ backend: unlimited, gpu }) => {
  const opened: Backend[] = [unlimited];
  afterAll(async () => {
    for (const backend of opened) await backend.dispose();
  });

  /** The error of compiling a program where the device has limits. */
  const refusal = async (record: (program: Program) => void, limits: Limits = { maxStorageBufferBindingSize: limit }): Promise<string> => {
    const backend = await webgpu({ gpu: limited(gpu, limits) }).open();
    opened.push(backend);
    const program = createProgram();
    record(program);
    const error = await backend.compile(program).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({ device: `webgpu (${backend.device.name})`, limit: Object.values(limits)[0], free: undefined });
    expect(backend.memory().arenas).toBe(0);
    return (error as OutOfMemoryError).message;
  };
  const refused = (got: string, fix = "use smaller tensors, or use another backend"): string =>
    `: expected at most ${limit} bytes for one tensor on this device, got ${got}; ${fix}`;

  test("are refused as constants, naming the op", async () => {
    const product = await refusal((program) => {
      program.output("y", program.mul(program.input("x", "f32", [1]), program.constant(new Float32Array(many).fill(3), "f32", [many])));
    });
    expect(product).toContain(refused(`${4 * many} for a constant of mul (f32 [${many}])`));
    const weight = await refusal((program) => {
      const w = program.constant(new Float32Array(many).fill(3), "f32", [256, 512]);
      program.output("y", program.matmul(program.input("x", "f32", [program.dim("T", 4), 256]), w));
    });
    expect(weight).toContain(refused(`${4 * many} for a constant of matmul (f32 [256, 512])`));
  });

  test("are refused as working memory, naming the op", async () => {
    const count = limit / 4;
    const sorted = await refusal((program) => program.output("y", program.argsort(program.input("x", "f32", [count]))));
    expect(sorted).toMatch(/got \d+ for working memory of argsort; use smaller tensors, or use another backend$/);
    const rows = await refusal((program) =>
      program.output("y", program.argsort(program.input("x", "f32", [program.dim("n", 4), count / 4]))),
    );
    expect(rows).toMatch(/got \d+ for working memory of argsort; give n a smaller maximum, or use another backend$/);
    const largest = await refusal((program) => {
      program.output("y", program.topK(program.input("x", "f32", [count]), { k: 40 }));
    });
    expect(largest).toMatch(/got \d+ for working memory of topK; use smaller tensors, or use another backend$/);
  });

  test("are refused as inputs by name, with advice about symbolic dims where there are any", async () => {
    const sum = (n: (program: Program) => Dim) => (program: Program) => {
      program.output("y", program.sum(program.input("x", "f32", [n(program)])));
    };
    expect(await refusal(sum(() => many))).toContain(refused(`${4 * many} for input x (f32 [${many}])`));
    const symbolic = await refusal(sum((program) => program.dim("n", many)));
    expect(symbolic).toContain(refused(`${4 * many} for input x (f32 [n≤${many}])`, "give n a smaller maximum, or use another backend"));
  });

  test("are refused as results, naming the op or the calls of a group", async () => {
    const outer = (rows: (program: Program) => Dim) => (program: Program) => {
      const product = program.matmul(program.input("x", "f32", [rows(program), 1]), program.input("w", "f32", [1, 512]));
      program.output("y", program.sum(program.softmax(product)));
    };
    expect(await refusal(outer(() => 256))).toContain(refused(`${4 * many} for the result of matmul (f32 [256, 512])`));
    const symbolic = await refusal(outer((program) => program.dim("T", 256)));
    expect(symbolic).toContain(
      refused(`${4 * many} for the result of matmul (f32 [T≤256, 512])`, "give T a smaller maximum, or use another backend"),
    );
    const group = await refusal((program) => {
      const pair = program.add(program.input("x", "f32", [256, 1]), program.input("w", "f32", [1, 512]));
      program.output("y", program.relu(pair));
    });
    expect(group).toContain(refused(`${4 * many} for the result of add, relu (f32 [256, 512])`));
  });

  test("are no inputs that only together exceed a buffer, which are refused by name", async () => {
    const limits = { maxBufferSize: limit };
    const add = (extent: (program: Program) => Dim) => (program: Program) => {
      const n = extent(program);
      const [a, b] = ["a", "b"].map((name) => program.input(name, "f32", [n]));
      program.output("y", program.add(a!, b!));
    };
    const fixed = await refusal(
      add(() => 50_000),
      limits,
    );
    expect(fixed).toMatch(/got \d+ for the inputs a \(f32 \[50000\]\), b \(f32 \[50000\]\), which share one buffer; use smaller tensors, /);
    expect(fixed).toMatch(/; use smaller tensors, declare one as a persistent, or use another backend$/);
    const symbolic = await refusal(
      add((program) => program.dim("n", 50_000)),
      limits,
    );
    expect(symbolic).toMatch(/; give n a smaller maximum, declare one as a persistent, or use another backend$/);
  });
});
