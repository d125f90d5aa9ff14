import { type ConcreteSpec, createRecorder, type OpRecorder, type Plan, type Runtime, type Value } from "@centella/core";
import type { CompiledPlan } from "../scheduler/scheduler.ts";
import { takeData } from "./cacheTransfer.ts";
import type { StateCopier } from "./recurrentStatePool.ts";
import type { SnapshotLayer } from "./snapshot.ts";

/**
 * Moves rows of recurrent state: to other rows, and between the device and the host. It runs programs of its own on the memory of the
 * model's plan.
 */
export class RecurrentStateTransfer implements StateCopier {
  readonly #states: ReadonlyMap<string, ConcreteSpec>;
  readonly #runtime: Runtime;
  readonly #plan: CompiledPlan;
  readonly #copier: Plan;
  #reader: Promise<Plan> | undefined;
  #writer: Promise<Plan> | undefined;

  private constructor(runtime: Runtime, plan: CompiledPlan, states: ReadonlyMap<string, ConcreteSpec>, copier: Plan) {
    this.#runtime = runtime;
    this.#plan = plan;
    this.#states = states;
    this.#copier = copier;
  }

  /** @param states specs of the state tensors, by name */
  static async open(runtime: Runtime, plan: CompiledPlan, states: ReadonlyMap<string, ConcreteSpec>): Promise<RecurrentStateTransfer> {
    const copier = await runtime.compile(recordCopier(states), { shareWith: plan });
    return new RecurrentStateTransfer(runtime, plan, states, copier);
  }

  /** Elements of a row in each state tensor. */
  get rowSizes(): readonly SnapshotLayer[] {
    return [...this.#states].map(([name, spec]) => ({ name, elements: elementsOf(spec) }));
  }

  copyState(from: number, to: number): void {
    const outputs = this.#copier.run({ from: Int32Array.of(from), ...targets(this.#states, to), done: new Float32Array(1) });
    for (const output of Object.values(outputs)) output.dispose();
  }

  /** Reads a row of each state tensor, in the order of {@link rowSizes}. */
  async read(row: number): Promise<Float32Array[]> {
    this.#reader ??= this.#runtime.compile(recordReader(this.#states), { shareWith: this.#plan });
    const outputs = (await this.#reader).run({ from: Int32Array.of(row) });
    return Promise.all([...this.#states.keys()].map((name) => takeData(outputs, name)));
  }

  /** Writes rows as {@link read} returns them. */
  async write(row: number, values: readonly Float32Array[]): Promise<void> {
    this.#writer ??= this.#runtime.compile(recordWriter(this.#states), { shareWith: this.#plan });
    const plan = await this.#writer;
    const inputs = Object.fromEntries([...this.#states.keys()].map((name, i) => [`${name}.row`, values[i] ?? new Float32Array(0)]));
    // The output only shows that the run is done, or why it failed.
    await takeData(plan.run({ ...inputs, ...targets(this.#states, row), done: new Float32Array(1) }), "done");
  }

  async dispose(): Promise<void> {
    this.#copier.dispose();
    for (const plan of [this.#reader, this.#writer]) (await plan?.catch(() => undefined))?.dispose();
  }
}

/** Elements of a row. */
function elementsOf({ shape }: ConcreteSpec): number {
  return shape.slice(1).reduce((product, extent) => product * extent, 1);
}

/** Number of tokens that write a row; see {@link write}. Convolution states are `[rows, tokens, …]`, scan states `[rows, H, P, N]`. */
function tokensOf({ shape }: ConcreteSpec): number {
  return shape.at(shape.length === 3 ? 1 : 3) ?? 0;
}

/** Inputs of the tokens that write a row: their positions and the row, for each number of tokens. */
function targets(states: ReadonlyMap<string, ConcreteSpec>, row: number): Record<string, Int32Array> {
  return Object.fromEntries(
    [...new Set([...states.values()].map(tokensOf))].flatMap((count) => [
      [`positions.${count}`, Int32Array.from({ length: count }, (_, i) => i)],
      [`rows.${count}`, new Int32Array(count).fill(row)],
    ]),
  );
}

function recordCopier(states: ReadonlyMap<string, ConcreteSpec>): OpRecorder {
  const program = createRecorder();
  const from = program.input("from", "i32", [1]);
  recordWrites(program, states, (_name, spec, state) => gatherRow(program, spec, state, from));
  return program;
}

function recordWriter(states: ReadonlyMap<string, ConcreteSpec>): OpRecorder {
  const program = createRecorder();
  recordWrites(program, states, (name, spec) => program.input(`${name}.row`, "f32", spec.shape.slice(1)));
  return program;
}

function recordReader(states: ReadonlyMap<string, ConcreteSpec>): OpRecorder {
  const program = createRecorder();
  const from = program.input("from", "i32", [1]);
  for (const [name, spec] of states)
    program.output(name, gatherRow(program, spec, program.persistent(name, spec, { init: "zeros" }), from));
  return program;
}

/** A row `[…]` of a state tensor `[rows, …]`. */
function gatherRow(program: OpRecorder, spec: ConcreteSpec, state: Value, row: Value): Value {
  const [rowCount = 0, ...rowShape] = spec.shape;
  const rows = program.reshape(state, { shape: [rowCount, elementsOf(spec)] });
  return program.reshape(program.embedding(rows, row), { shape: rowShape });
}

function recordWrites(
  program: OpRecorder,
  states: ReadonlyMap<string, ConcreteSpec>,
  rowFor: (name: string, spec: ConcreteSpec, state: Value) => Value,
): void {
  const inputs = new Map<string, Value>();
  const input = (name: string, count: number): Value => {
    const key = `${name}.${count}`;
    const value = inputs.get(key) ?? program.input(key, "i32", [count]);
    inputs.set(key, value);
    return value;
  };
  for (const [name, spec] of states) {
    const state = program.persistent(name, spec, { init: "zeros" });
    const count = tokensOf(spec);
    write(program, state, spec, rowFor(name, spec, state), input("positions", count), input("rows", count));
  }
  program.output("done", program.scale(program.input("done", "f32", [1]), { by: 1 }));
}

/**
 * Writes a row as the tokens of a text, whose state begins at 0. The state of a convolution is its last tokens. The state of a scan is
 * written exactly by N tokens without decay, of which token n adds to element n alone.
 */
function write(program: OpRecorder, state: Value, { shape }: ConcreteSpec, value: Value, positions: Value, rows: Value): void {
  if (shape.length === 3) {
    program.ssmConvWrite(state, value, positions, rows);
    return;
  }
  const [, H, , N] = shape as readonly [number, number, number, number];
  const x = program.transpose(value, { axes: [2, 0, 1] }); // [N, H, P]
  const constant = (extents: readonly number[], at: (i: number) => number): Value =>
    program.constant(
      Float32Array.from({ length: extents.reduce((product, extent) => product * extent, 1) }, (_, i) => at(i)),
      "f32",
      extents,
    );
  const dt = constant([N, H], () => 1);
  const a = constant([H, 1], () => 0);
  const b = constant([N, 1, N], (i) => (Math.floor(i / N) === i % N ? 1 : 0));
  program.ssmScanWrite(state, x, dt, a, b, positions, rows);
}
