import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { elementAt } from "@centella/quant/checks";

import { Skip, type Subject } from "../runner/subject.ts";
import type { Competitor } from "../tasks/competitor.ts";
import { inputsOf, operandShapes, type Task } from "../tasks/task.ts";
import type { PeerAdapter } from "./peer.ts";

/**
 * The peer's side: one command per line, one answer per line. It keeps time itself, so that the pipe does not count.
 * Inputs follow their command as raw f32.
 */
const script = `
import sys, time, json
import numpy as np
sets, task = [], None
stdin = sys.stdin.buffer
c1 = np.float32(np.sqrt(2 / np.pi))
def call(i):
    s = sets[i % len(sets)]
    kind = task["kind"]
    if kind == "matmul": return s[0] @ s[1]
    if kind == "chain":
        y = s[0]
        for _ in range(task["length"] // 2): y = (y + s[1]) * s[2]
        return y
    if kind == "series":
        arity = len(s) // task["count"]
        y = one(task["op"], s)
        for i in range(arity, len(s), arity): y = y + one(task["op"], s[i:])
        return y
    return one(task["op"], s)
def one(op, s):
    if op == "add": return s[0] + s[1]
    if op == "mul": return s[0] * s[1]
    if op == "relu": return np.maximum(s[0], 0)
    if op == "sigmoid": return 1 / (1 + np.exp(-s[0]))
    if op == "max": return s[0].max()
    if op == "min": return s[0].min()
    if op == "dot": return np.dot(s[0], s[1])
    if op == "sum": return s[0].sum()
    if op == "softmax":
        e = np.exp(s[0] - s[0].max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)
    if op == "layerNorm":
        d = s[0] - s[0].mean(axis=-1, keepdims=True)
        return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * s[1] + s[2]
    x = s[0]
    return np.float32(0.5) * x * (1 + np.tanh(c1 * (x + np.float32(0.044715) * x * x * x)))
def answer(value): print(json.dumps(value), flush=True)
answer(np.__version__)
for line in stdin:
    command = json.loads(line)
    if command["do"] == "task": task, sets = command["task"], []; answer(None)
    elif command["do"] == "set":
        sets.append([np.frombuffer(stdin.read(int(np.prod(shape, dtype=np.int64)) * 4), np.float32).reshape(shape) for shape in command["shapes"]]); answer(None)
    elif command["do"] == "sample":
        start = time.perf_counter()
        for i in range(command["calls"]): y = call(command["first"] + i)
        answer(time.perf_counter() - start)
    elif command["do"] == "result":
        y = np.ascontiguousarray(call(0), np.float32); answer(y.size); sys.stdout.buffer.write(y.tobytes()); sys.stdout.buffer.flush()
`;

/** numpy in a separate Python process. */
export const numpy: PeerAdapter = {
  name: "numpy",
  kind: "cpu",
  async open({ threads }) {
    const count = String(threads);
    const env = { ...process.env, OPENBLAS_NUM_THREADS: count, MKL_NUM_THREADS: count, OMP_NUM_THREADS: count };
    const child = spawn("python3", ["-c", script], { env });
    const pipe = new Pipe(child);
    const version = await pipe.answer();
    return {
      version: String(version),
      competitor: competitorOf(pipe, threads),
      dispose: () => {
        child.stdin.end();
      },
    };
  },
};

function competitorOf(pipe: Pipe, threads: number): Competitor {
  // The process holds one task at a time; a subject sends its task again when another one had its turn.
  let current: object | undefined;
  return {
    name: "numpy",
    side: "peer",
    threads,
    async prepare(task, sets): Promise<Subject> {
      if (task.kind === "quantMatmul") throw new Skip("has no quantised weights");
      const self = {};
      const makeCurrent = async (): Promise<void> => {
        if (current === self) return;
        current = self;
        await sendTask(pipe, task, sets);
      };
      return {
        async sample(calls, first) {
          await makeCurrent();
          return Number(await pipe.ask({ do: "sample", calls, first }));
        },
        async result() {
          await makeCurrent();
          return pipe.askFloats({ do: "result" });
        },
        dispose: () => undefined,
      };
    },
  };
}

async function sendTask(pipe: Pipe, task: Task, sets: number): Promise<void> {
  await pipe.ask({ do: "task", task });
  for (let set = 0; set < sets; set++) {
    await pipe.ask({ do: "set", shapes: operandShapes(task) }, inputsOf(task, set));
  }
}

/** Commands and answers in turn. */
class Pipe {
  readonly #child: ChildProcessWithoutNullStreams;
  /** Unread output in its original chunks, since joining 128 MiB at each chunk would take minutes. */
  #chunks: Buffer[] = [];
  #wake: (() => void) | undefined;
  #ended: string | undefined;
  #errors = "";

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#wake?.();
    });
    child.stdin.on("error", () => undefined);
    createInterface(child.stderr).on("line", (line) => {
      this.#errors = line;
    });
    const end = (reason: string): void => {
      this.#ended ??= reason;
      this.#wake?.();
    };
    child.on("error", (error: NodeJS.ErrnoException) => end(error.code === "ENOENT" ? "there is no python3" : error.message));
    child.on("close", () => end(this.#errors || "the process ended"));
  }

  async ask(command: object, data: readonly Float32Array[] = []): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    for (const values of data) this.#child.stdin.write(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    return this.answer();
  }

  async askFloats(command: object): Promise<Float32Array> {
    const bytes = 4 * Number(await this.ask(command));
    const taken = await this.#take((total) => (total >= bytes ? bytes : undefined));
    return new Float32Array(Uint8Array.from(taken).buffer);
  }

  /** @throws {Skip} if the process has ended */
  async answer(): Promise<unknown> {
    const line = await this.#take(() => {
      const end = this.#join().indexOf(10);
      return end < 0 ? undefined : end + 1;
    });
    return JSON.parse(line.toString("utf8"));
  }

  async #take(ready: (total: number) => number | undefined): Promise<Buffer> {
    for (;;) {
      const length = ready(this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0));
      if (length !== undefined) {
        const all = this.#join();
        this.#chunks = [all.subarray(length)];
        return all.subarray(0, length);
      }
      if (this.#ended !== undefined) throw new Skip(this.#ended);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #join(): Buffer {
    const all = this.#chunks.length === 1 ? elementAt(this.#chunks, 0) : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}
