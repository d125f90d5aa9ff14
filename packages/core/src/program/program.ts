import { check, checkKeys, checkOptions, describe, isRecord, list, object, oneOf, string } from "@centella/quant/checks";
import type { DType, TypedArray } from "../dtype.ts";
import { ArgumentError, ProgramError, ShapeError } from "../errors.ts";
import { opDefinition } from "../kinds.ts";
import { ops } from "../ops/index.ts";
import {
  type ConcreteSpec,
  checkCount,
  checkSpec,
  formatSpec,
  isConcrete,
  type Shape,
  type SymbolicDim,
  type TensorSpec,
} from "../spec.ts";
import { checkData } from "../tensor.ts";
import { type CustomOp, customOp } from "./custom.ts";
import { type AnyOp, inputName, isRequiredInput } from "./op.ts";
import type { OpMethods } from "./opMethods.ts";
import {
  type Node,
  type Output,
  type Persistent,
  type ProgramGraph,
  specOf,
  type ValueInfo,
  type ValueSource,
  valueAt,
} from "./programGraph.ts";

/** A value of a program that is being recorded. Only that program accepts it. */
export class Value {
  readonly program: ProgramGraph;
  readonly id: number;
  readonly spec: TensorSpec;
  constructor(program: ProgramGraph, id: number, spec: TensorSpec) {
    this.program = program;
    this.id = id;
    this.spec = spec;
  }
}

/** A recorder with the ops as methods: declare inputs and persistents, call ops, name the outputs. Nothing is computed. */
export type OpRecorder = Recorder & OpMethods<Value, Value>;

/** Like `createProgram`, without `explain`. Pages that do not print programs download less code. */
export function createRecorder(): OpRecorder {
  const recorder = new Recorder();
  return Object.assign(
    recorder,
    opMethods<Value, Value>((op, inputs, params) => recorder.record(op, inputs, params)),
  );
}

/** Builds the op methods over one function that takes an op, its inputs in order (optional ones last) and its parameters. */
export function opMethods<Handle extends object, Result>(
  call: (op: AnyOp, inputs: readonly (Handle | undefined)[], params: object) => Result,
): OpMethods<Handle, Result> {
  const methods: Record<string, (...args: object[]) => Result> = {};
  for (const op of Object.values<AnyOp>({ ...ops })) {
    methods[op.name] = (...args) => {
      const inputs = (op.variadic === true ? listOf(op, args[0]) : args.slice(0, op.inputs.length)) as Handle[];
      const options = args[op.inputs.length];
      if (options !== undefined && !isRecord(options))
        throw new ArgumentError(op.name, "an options object", describe(options), "pass { option: value }");
      const given: Record<string, unknown> = { ...options };
      if (args.length > op.inputs.length + 1) {
        throw new ArgumentError(
          op.name,
          `${op.inputs.length} tensors (${op.inputs.join(", ")}) and an options object`,
          `${args.length} arguments`,
          "put options in the one object",
        );
      }
      if (op.optionalInputs === undefined) return call(op, inputs, given);
      const optional = op.optionalInputs.map((name) => {
        const handle = given[name];
        delete given[name];
        return handle as Handle | undefined;
      });
      return call(op, [...inputs, ...optional], given);
    };
  }
  return methods as Partial<OpMethods<Handle, Result>> as OpMethods<Handle, Result>;
}

function listOf(op: AnyOp, given: unknown): readonly unknown[] {
  if (!Array.isArray(given))
    throw new ArgumentError(op.name, `${op.inputs[0]} to be a list of tensors`, describe(given), "put them in [ ]");
  return given;
}

/** The state of a recording; {@link createProgram} adds the op methods. */
export class Recorder implements ProgramGraph {
  readonly dims: Map<string, SymbolicDim> = new Map();
  readonly values: ValueInfo[] = [];
  readonly nodes: Node[] = [];
  readonly inputs: Map<string, number> = new Map();
  readonly persistents: Map<string, Persistent> = new Map();
  readonly outputs: Output[] = [];
  /** Id of the newest version of each persistent. */
  readonly #newest = new Map<string, number>();
  /** For results of alias ops: the value whose memory they share. */
  readonly #memory = new Map<number, number>();

  /** Declares a symbolic dim: an extent from 0 to `max` that each run binds. */
  dim(name: string, max: number): SymbolicDim {
    check("dim", "name", name, string);
    if (this.dims.has(name)) throw new ProgramError(`dim: ${name} is declared already; use the first declaration`);
    if (!Number.isSafeInteger(max) || max < 1)
      throw new ArgumentError(
        `dim ${name}`,
        "a maximum that is a whole number from 1",
        describe(max),
        "pass the largest extent that a run may have",
      );
    const dim = { name, max };
    this.dims.set(name, dim);
    return dim;
  }

  /** Declares a tensor that each run provides. Scalars are inputs of shape `[]`. */
  input(name: string, dtype: DType, shape: Shape): Value {
    check("input", "name", name, string);
    if (this.inputs.has(name)) throw new ProgramError(`input: ${name} is declared already; give each input its own name`);
    checkSpec(`input ${name}`, { dtype, shape });
    const value = this.#value({ dtype, shape }, { kind: "input", name });
    this.inputs.set(name, value.id);
    return value;
  }

  /** Declares a tensor that outlives runs. Weights are loaded after compiling, state starts as zeros. */
  persistent(name: string, spec: ConcreteSpec, options: { readonly init?: "load" | "zeros" } = {}): Value {
    check("persistent", "name", name, string);
    const { init = "load" } = checkOptions("persistent", options, { init: oneOf("load", "zeros") });
    if (this.persistents.has(name)) throw new ProgramError(`persistent: ${name} is declared already; give each persistent its own name`);
    checkSpec(`persistent ${name}`, spec);
    if (!isConcrete(spec)) throw new ShapeError(`persistent ${name}`, "extents that are numbers", formatSpec(spec), "use the maximum");
    const value = this.#value(spec, { kind: "persistent", name }, name);
    this.persistents.set(name, { name, spec, init, value: value.id });
    this.#newest.set(name, value.id);
    return value;
  }

  /** A tensor whose data is part of the program. `data` is in the dtype's stored form and is not copied: do not change it. */
  constant(data: TypedArray, dtype: DType, shape: readonly number[]): Value {
    checkData("constant", { dtype, shape }, data);
    return this.#value({ dtype, shape }, { kind: "constant", data });
  }

  /** Names a result of the program. */
  output(name: string, value: Value, options: { readonly to?: "host" | "device" } = {}): void {
    check("output", "name", name, string);
    const { to = "host" } = checkOptions("output", options, { to: oneOf("host", "device") });
    if (this.outputs.some((output) => output.name === name))
      throw new ProgramError(`output: ${name} is declared already; give each output its own name`);
    this.outputs.push({ name, value: this.#own("output", name, value), to });
  }

  /** Records one op call: completes the parameters, runs the shape rule, keeps the versions of persistents in order. */
  record(op: AnyOp, inputs: readonly (Value | undefined)[], params: object): Value {
    check("record", "op", op, opDefinition);
    requireInputs(op, inputs);
    const ids = Array.from(inputs, (value, i) => {
      if (value === undefined && !isRequiredInput(op, i)) return undefined;
      return this.#own(op.name, inputName(op, i), value);
    });
    const complete = completeParams(op, params);
    const spec = op.infer(
      ids.map((id) => (id === undefined ? undefined : specOf(this, id))),
      complete,
    );
    checkCount(op.name, spec.shape);
    const target = op.writes === undefined ? undefined : ids[op.writes];
    const persistent = target === undefined ? undefined : this.#written(op, target);
    const value = this.#value(spec, { kind: "node" }, persistent);
    this.nodes.push({ op, inputs: ids, params: complete, output: value.id });
    const [source] = ids;
    if (op.alias === true && source !== undefined) this.#memory.set(value.id, this.#memoryOf(source));
    if (persistent !== undefined) this.#newest.set(persistent, value.id);
    return value;
  }

  /**
   * Records a call of a custom op: see {@link CustomOp}. A backend for which the op has no kernel refuses the program when it is
   * compiled.
   */
  custom<P extends object>(op: CustomOp<P>, inputs: readonly Value[], params: Partial<NoInfer<P>> = {}): Value {
    return this.record(customOp(op), inputs, params);
  }

  #value(spec: TensorSpec, definition: ValueSource, persistent?: string): Value {
    const id = this.values.length;
    this.values.push({ id, spec, definition, persistent });
    return new Value(this, id, spec);
  }

  #written(op: AnyOp, id: number): string {
    const { persistent } = valueAt(this, id);
    if (persistent === undefined) {
      throw new ProgramError(
        `${op.name}: expected ${inputName(op, op.writes ?? 0)} to be a persistent, got a temporary; declare it with persistent()`,
      );
    }
    const output = this.outputs.find(({ value }) => valueAt(this, this.#memoryOf(value)).persistent === persistent);
    if (output !== undefined) {
      throw new ProgramError(
        `${op.name}: output ${output.name} is the version of ${persistent} before this write; declare the output of what ${op.name} returns`,
      );
    }
    return persistent;
  }

  #memoryOf(id: number): number {
    return this.#memory.get(id) ?? id;
  }

  /** The id of a value that belongs to this program and is not an old version of a persistent. */
  #own(where: string, name: string, value: Value | undefined): number {
    if (!(value instanceof Value))
      throw new ArgumentError(
        where,
        `${name} to be a handle of this program`,
        value === undefined ? "nothing" : describe(value),
        "pass what input(), persistent(), constant() or an op of it gave",
      );
    if (value.program !== this)
      throw new ProgramError(`${where}: ${name} belongs to another program; record all ops of a chain in one program`);
    const memory = this.#memoryOf(value.id);
    const { persistent } = valueAt(this, memory);
    if (persistent !== undefined && this.#newest.get(persistent) !== memory) {
      throw new ProgramError(
        `${where}: ${name} is an old version of ${persistent}, which was written since; use what the writing op returned`,
      );
    }
    return value.id;
  }
}

/** @throws {ArgumentError} if a call has too few tensors */
export function requireInputs(op: AnyOp, inputs: readonly unknown[]): void {
  check(op.name, "inputs", inputs, list);
  if (inputs.length >= op.inputs.length) return;
  const expected = op.variadic === true ? `at least one of ${op.inputs[0]}` : `${op.inputs.length} tensors (${op.inputs.join(", ")})`;
  throw new ArgumentError(op.name, expected, inputs.length === 0 ? "none" : String(inputs.length), "pass them before the options");
}

/** `params` with the op's defaults filled in. @throws {ArgumentError} for an unknown or a missing parameter. */
export function completeParams(op: AnyOp, params: object): object {
  check(op.name, "params", params, object);
  if (op.required === undefined && Object.keys(params).length === 0) return op.defaults;
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
  const known = [...(op.required ?? []).map(String), ...Object.keys(op.defaults)];
  checkKeys(op.name, given, known);
  const missing = op.required?.map(String).find((key) => !(key in given));
  if (missing !== undefined) throw new ArgumentError(op.name, `option ${missing}`, "none", `pass { ${missing}: … }`);
  return { ...op.defaults, ...given };
}
