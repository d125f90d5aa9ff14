import { elementAt, tupleOf } from "@centella/quant/checks";
import { Skip, type Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import type { Competitor } from "../tasks/competitor.ts";
import { callsOf, inputsOf, type OpTask, operandShapes, type Task } from "../tasks/task.ts";
import { loadPeer, peerVersion } from "./load.ts";
import type { PeerAdapter } from "./peer.ts";

interface JaxArray {
  /** Adds a reference, because functions take ownership of their arguments. */
  readonly ref: JaxArray;
  reshape(shape: readonly number[]): JaxArray;
  blockUntilReady(): Promise<JaxArray>;
  data(): Promise<Float32Array>;
  dispose(): void;
}

type JaxFunction = (...operands: readonly JaxArray[]) => JaxArray;

interface Jax {
  readonly numpy: {
    array(values: Float32Array): JaxArray;
    matmul(a: JaxArray, b: JaxArray): JaxArray;
    add(a: JaxArray, b: JaxArray): JaxArray;
    multiply(a: JaxArray, b: JaxArray): JaxArray;
    dot(a: JaxArray, b: JaxArray): JaxArray;
    sum(x: JaxArray): JaxArray;
    max(x: JaxArray): JaxArray;
    min(x: JaxArray): JaxArray;
  };
  readonly nn: {
    relu(x: JaxArray): JaxArray;
    sigmoid(x: JaxArray): JaxArray;
    gelu(x: JaxArray, options: { readonly approximate: boolean }): JaxArray;
    softmax(x: JaxArray): JaxArray;
  };
  init(device: string): Promise<readonly string[]>;
  defaultDevice(device: string): string;
  jit(f: JaxFunction): JaxFunction & { dispose?(): void };
}

/** jax-js, jitted, on its WASM backend: one thread in Node. */
export const jax: PeerAdapter = {
  name: "jax-js",
  kind: "cpu",
  async open() {
    const library = (await loadPeer("@jax-js/jax")) as Jax;
    const devices = await library.init("wasm");
    if (!devices.includes("wasm")) throw new Skip("its wasm backend did not start");
    library.defaultDevice("wasm");
    return { version: peerVersion("@jax-js/jax"), competitor: competitorOf(library), dispose: () => undefined };
  },
};

function competitorOf(library: Jax): Competitor {
  return {
    name: "jax-js",
    side: "peer",
    threads: 1,
    async prepare(task, sets): Promise<Subject> {
      const shapes = operandShapes(task);
      const compute = library.jit(functionOf(library, task));
      const operands = Array.from({ length: sets }, (_, set) =>
        inputsOf(task, set).map((values, i) => library.numpy.array(values).reshape(elementAt(shapes, i))),
      );
      for (const array of operands.flat()) await array.blockUntilReady();
      const call = async (set: number): Promise<JaxArray> =>
        compute(...elementAt(operands, set % sets).map((array) => array.ref)).blockUntilReady();
      return {
        sample: timed(async (set) => (await call(set)).dispose()),
        result: async () => (await call(0)).data(),
        dispose() {
          for (const array of operands.flat()) array.dispose();
          compute.dispose?.();
        },
      };
    },
  };
}

function functionOf(library: Jax, task: Task): JaxFunction {
  const { numpy } = library;
  switch (task.kind) {
    case "matmul":
      return (...operands) => numpy.matmul(...tupleOf(operands, 2));
    case "quantMatmul":
      throw new Skip("has no quantised weights");
    case "chain":
      return (...operands) => {
        const [x, a, b] = tupleOf(operands, 3);
        let y = x;
        for (let step = 0; step < task.length / 2; step++) y = numpy.multiply(numpy.add(y, a.ref), b.ref);
        a.dispose();
        b.dispose();
        return y;
      };
    case "op":
      return opOf(library, task.op);
    case "series": {
      const call = opOf(library, task.op);
      return (...operands) =>
        callsOf(task, operands)
          .map((own) => call(...own))
          .reduce((sum, y) => numpy.add(sum, y));
    }
  }
}

function opOf({ numpy, nn }: Jax, op: OpTask["op"]): JaxFunction {
  switch (op) {
    case "add":
      return (...operands) => numpy.add(...tupleOf(operands, 2));
    case "dot":
      return (...operands) => numpy.dot(...tupleOf(operands, 2));
    case "mul":
      return (...operands) => numpy.multiply(...tupleOf(operands, 2));
    case "relu":
    case "sigmoid":
      return (...operands) => nn[op](...tupleOf(operands, 1));
    case "sum":
    case "max":
    case "min":
      return (...operands) => numpy[op](...tupleOf(operands, 1));
    case "softmax":
      return (...operands) => nn.softmax(...tupleOf(operands, 1));
    case "gelu":
      return (...operands) => nn.gelu(...tupleOf(operands, 1), { approximate: true });
    case "layerNorm":
      throw new Skip("has no layerNorm");
  }
}
