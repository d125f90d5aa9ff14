import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { peersFolder } from "../peers/load.ts";
import { Skip } from "../runner/subject.ts";
import type { PeerTask } from "./kernel.ts";

/** A line of the script. */
interface Answer {
  /** Name and version, once the script is ready. */
  readonly ready?: string;
  /** Why there is nothing to compare with, or why a task is not done. */
  readonly skipped?: string;
  /** Of single calls. */
  readonly seconds?: readonly number[];
}

/** PyTorch on the same GPU (cuBLAS, cuDNN), in a process of its own that answers one task after the other. */
export class TorchPeer {
  readonly name: string;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #answers: Answers;

  private constructor(name: string, process: ChildProcessWithoutNullStreams, answers: Answers) {
    this.name = name;
    this.#process = process;
    this.#answers = answers;
  }

  /** @throws {Skip} with the reason if there is no Python, no PyTorch or no CUDA device */
  static async open(python = "python3", script: string = join(peersFolder, "pytorch.py")): Promise<TorchPeer> {
    const started = spawn(python, [script], { stdio: "pipe" });
    started.stdin.on("error", () => undefined);
    started.stderr.resume();
    const answers = new Answers(started);
    const { ready, skipped = "the script did not start" } = await answers.next();
    if (ready !== undefined) return new TorchPeer(ready, started, answers);
    started.kill();
    throw new Skip(skipped);
  }

  /** Times calls of a task, one in each sample. @throws {Skip} with the reason if it cannot be done */
  async time(task: PeerTask, samples: number): Promise<readonly number[]> {
    this.#process.stdin.write(`${JSON.stringify({ ...task, samples })}\n`);
    const { seconds, skipped = "the script gave no times" } = await this.#answers.next();
    if (seconds === undefined) throw new Skip(skipped);
    return seconds;
  }

  async dispose(): Promise<void> {
    this.#process.stdin.end();
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, "exit");
  }
}

/** The lines that a process prints, one by one. After its end, the reason of the end. */
class Answers {
  readonly #lines: AsyncIterator<string>;
  #end = "the script ended early";

  constructor(process: ChildProcessWithoutNullStreams) {
    process.on("error", ({ message }) => {
      this.#end = message;
    });
    this.#lines = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
  }

  async next(): Promise<Answer> {
    const { done, value } = await this.#lines.next();
    return done === true ? { skipped: this.#end } : (JSON.parse(value) as Answer);
  }
}
