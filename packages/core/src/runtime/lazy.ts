import { check, describe, elementAt, entryOf, lastOf, list } from "@centella/quant/checks";
import type { DType, TypedArray } from "../dtype.ts";
import { ArgumentError } from "../errors.ts";
import { ops } from "../ops/index.ts";
import { type CustomOp, customOp } from "../program/custom.ts";
import { type AnyOp, inputName, isRequiredInput } from "../program/op.ts";
import type { ChainMethods } from "../program/opMethods.ts";
import { completeParams, createRecorder, opMethods, requireInputs } from "../program/program.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import { opKey, structuralKey } from "../program/structuralKey.ts";
import { type ConcreteSpec, checkCount, formatSpec, maxSpec } from "../spec.ts";
import type { Tensor } from "../tensor.ts";

/** A tensor that is computed when it is read. Make one with `runtime.lazy()`. */
export interface LazyTensor extends LazyCore, ChainMethods<LazyTensor> {}

/** Where a lazy tensor's content comes from. */
type Source =
  | { readonly tensor: Tensor }
  | { readonly op: AnyOp; readonly inputs: readonly (LazyCore | undefined)[]; readonly params: object };

/** Runs recorded chains: the runtime. */
export interface LazyEngine {
  runLazy(chain: Chain): Promise<Tensor>;
}

/** A recorded chain, flat. */
export interface Chain {
  /** Equal for chains with the same ops, parameters and specs, whose tensors are used in the same places. */
  readonly key: string;
  /** Inputs of the program, named "0", "1", … */
  readonly tensors: readonly Tensor[];
  /** Records it. Its output is "y". */
  readonly record: () => ProgramGraph;
}

/**
 * A {@link LazyTensor} without its op methods. Ops check their arguments and record; {@link LazyCore.data} computes the whole
 * chain in one run. Between two calls only the compiled plan is kept. Chains with the same key share it.
 */
export class LazyCore {
  readonly spec: ConcreteSpec;
  readonly #engine: LazyEngine;
  readonly #source: Source;

  constructor(engine: LazyEngine, spec: ConcreteSpec, source: Source) {
    addMethods();
    this.#engine = engine;
    this.spec = spec;
    this.#source = source;
  }

  get shape(): readonly number[] {
    return this.spec.shape;
  }

  get dtype(): DType {
    return this.spec.dtype;
  }

  /** Computes the chain and reads the result, in stored form. */
  async data(): Promise<TypedArray> {
    const result = await this.#run("host");
    try {
      return await result.data();
    } finally {
      result.dispose();
    }
  }

  /** Computes the chain. The result stays on the backend; the caller disposes of it. */
  async tensor(): Promise<Tensor> {
    return this.#run("device");
  }

  /** Records a call of a custom op on this tensor, followed by `others`: see {@link CustomOp}. */
  custom<P extends object>(op: CustomOp<P>, others: readonly LazyCore[] = [], params: Partial<NoInfer<P>> = {}): LazyTensor {
    return LazyCore.recordCall(
      customOp(op),
      [this, ...check("custom", "others", others, list)] as readonly LazyCore[],
      params,
    ) as LazyTensor;
  }

  #run(to: "host" | "device"): Promise<Tensor> {
    return this.#engine.runLazy(LazyCore.chainOf(this, to));
  }

  /** Records a call on lazy tensors of one runtime: what the op methods do. */
  static recordCall(op: AnyOp, inputs: readonly (LazyCore | undefined)[], given: object): LazyCore {
    const engine = inputs[0]!.#engine;
    requireInputs(op, inputs);
    inputs.forEach((input, i) => {
      if (input === undefined && !isRequiredInput(op, i)) return;
      const name = inputName(op, i);
      if (!(input instanceof LazyCore))
        throw new ArgumentError(op.name, `${name} to be a lazy tensor`, describe(input), "make one with lazy()");
      if (input.#engine !== engine) throw new ArgumentError(op.name, `${name} to be of the same runtime`, "a tensor of another");
    });
    const params = completeParams(op, given);
    const spec = op.infer(
      inputs.map((input) => input?.spec),
      params,
    );
    checkCount(op.name, spec.shape);
    return new LazyCore(engine, maxSpec(spec), { op, inputs, params });
  }

  /** The chain that ends in a tensor. Not recursive: chains may be long. */
  static chainOf(end: LazyCore, to: "host" | "device"): Chain {
    const order = inOrder(end, (lazy) => ("op" in lazy.#source ? lazy.#source.inputs.filter((input) => input !== undefined) : []));
    const places = new Map(order.map((lazy, place) => [lazy, place]));
    const tensors: Tensor[] = [];
    const calls = order.map((lazy) => {
      const source = lazy.#source;
      if ("op" in source) {
        const { op, inputs, params } = source;
        return { op, inputs: inputs.map((input) => (input === undefined ? undefined : entryOf(places, input))), params };
      }
      const known = tensors.indexOf(source.tensor);
      return known < 0 ? tensors.push(source.tensor) - 1 : known;
    });
    const parts = calls.map((call) =>
      typeof call === "number" ? call : [opKey(call.op), call.inputs.map((place) => place ?? -1), call.params],
    );
    return {
      key: structuralKey("lazy", [to, tensors.map(({ spec }) => formatSpec(spec)), parts]),
      tensors,
      record() {
        const program = createRecorder();
        const inputs = tensors.map(({ spec }, i) => program.input(String(i), spec.dtype, spec.shape));
        const values: (typeof inputs)[number][] = [];
        for (const call of calls) {
          if (typeof call === "number") values.push(elementAt(inputs, call));
          else {
            const used = call.inputs.map((place) => (place === undefined ? undefined : elementAt(values, place)));
            values.push(program.record(call.op, used, call.params));
          }
        }
        program.output("y", lastOf(values), { to });
        return program;
      },
    };
  }
}

let hasMethods = false;

/** Adds the op methods to the class when the first lazy tensor is made. */
function addMethods(): void {
  if (hasMethods) return;
  hasMethods = true;
  const methods = opMethods<LazyCore, LazyCore>(LazyCore.recordCall);
  for (const { name, inputs, variadic, writes } of Object.values<AnyOp>({ ...ops })) {
    if (inputs.length === 0 || writes !== undefined) continue;
    const method: (...args: object[]) => LazyCore = Reflect.get(methods, name);
    const value = function (this: LazyCore, ...rest: object[]): LazyCore {
      const [others, ...params] = rest;
      return variadic === true && Array.isArray(others) ? method([this, ...others], ...params) : method(this, ...rest);
    };
    Object.defineProperty(LazyCore.prototype, name, { value });
  }
}

/** `end` and everything it depends on, inputs before the calls that read them. */
function inOrder(end: LazyCore, inputsOf: (lazy: LazyCore) => readonly LazyCore[]): readonly LazyCore[] {
  const order = new Set<LazyCore>();
  const stack = [{ lazy: end, isReady: false }];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { lazy, isReady } = top;
    if (isReady) order.add(lazy);
    if (isReady || order.has(lazy)) continue;
    stack.push({ lazy, isReady: true });
    for (const input of inputsOf(lazy).toReversed()) if (!order.has(input)) stack.push({ lazy: input, isReady: false });
  }
  return [...order];
}
