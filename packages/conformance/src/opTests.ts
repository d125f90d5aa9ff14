import { type Backend, type ConcreteSpec, createProgram, type HostTensor, type OpName, type Program, type Value } from "@centella/core";
import {
  type AnyOp,
  completeParams,
  decode,
  decodedArrayOf,
  elementAt,
  elementCount,
  isInteger,
  isQuantized,
  maxSpec,
  ops,
} from "@centella/core/backend";
import { referenceOf } from "@centella/core/references";
import { named } from "@centella/quant/checks";
import { cases } from "./cases/index.ts";
import { expectClose } from "./compare.ts";
import { type ConformanceTest, compileOrSkip, withoutLeaks } from "./conformanceTest.ts";
import { type Contents, contentsOf, seedOf } from "./data.ts";
import type { CaseTensor, OpCase, OpCases } from "./opCases.ts";
import { sourceOf } from "./sources.ts";

interface Input extends Contents {
  readonly as: "input" | "persistent" | "constant";
}

/** A test for each case of each op. */
export function opTests(): readonly ConformanceTest[] {
  return Object.keys(ops).flatMap((name) => testsOf(name as OpName));
}

function testsOf<N extends OpName>(name: N): readonly ConformanceTest[] {
  const { cases: list, tolerance }: OpCases<N> = cases[name];
  return list.map((opCase) => opTest(ops[name], opCase, tolerance));
}

function opTest<N extends OpName>(op: AnyOp, opCase: OpCase<N>, tolerances: OpCases<N>["tolerance"]): ConformanceTest {
  const id = `${op.name}: ${opCase.name}`;
  const seed = seedOf(id);
  const params = completeParams(op, opCase.params ?? {});
  const tensors: readonly (CaseTensor | undefined)[] = [
    ...opCase.inputs,
    ...(op.optionalInputs ?? []).map((name) => opCase.optional?.[name]),
  ];
  const specs = tensors.map((tensor): ConcreteSpec | undefined => tensor && { dtype: tensor.dtype, shape: tensor.shape });
  return {
    id,
    unsupported: (backend) => backend.unsupported(op, specs, params, maxSpec(op.infer(specs, params))),
    run: (backend) =>
      withoutLeaks(backend, async () => {
        const inputs = tensors.map((tensor, i) => tensor && inputOf(op, i, tensor, seed + i));
        const want = evaluate(op, inputs, params);
        const got = await evaluateOn(backend, op, inputs, params);
        const { spec } = want;
        const tolerance = opCase.tolerance ?? tolerances[spec.dtype];
        if (tolerance === undefined) throw new Error(`${id}: cases/${op.name}.ts has no tolerance for ${spec.dtype}`);
        const magnitudes = tolerance.sums === undefined ? undefined : evaluate(op, inputs.map(magnitudesOf), params).data;
        const comparison = { spec, got, tolerance, ...(magnitudes && { magnitudes }) };
        const { golden } = opCase;
        if (golden !== undefined) expectClose({ ...comparison, what: `${backend.name} ${id} against numpy`, want: golden });
        expectClose({ ...comparison, what: `${backend.name} ${id}`, want: want.data, seed });
      }),
  };
}

function inputOf(op: AnyOp, index: number, tensor: CaseTensor, seed: number): Input {
  const as = tensor.as ?? (op.writes === index || isQuantized(tensor.dtype) ? "persistent" : "input");
  return { ...contentsOf(tensor, seed), as };
}

/** An input with the magnitudes of its values. Integers, such as ids, stay unchanged. */
function magnitudesOf(input: Input | undefined): Input | undefined {
  if (input === undefined || isInteger(input.spec.dtype)) return input;
  return { ...input, decoded: input.decoded.map(Math.abs) };
}

/** Result of the op's own reference. For ops that write: the content afterwards. */
function evaluate(op: AnyOp, inputs: readonly (Input | undefined)[], params: object): HostTensor {
  const tensors = inputs.map(
    (input): HostTensor | undefined => input && { spec: input.spec, data: input.decoded.slice(), stored: input.stored },
  );
  const spec = maxSpec(
    op.infer(
      inputs.map((input) => input?.spec),
      params,
    ),
  );
  const output =
    op.writes === undefined ? { spec, data: new (decodedArrayOf(spec.dtype))(elementCount(spec.shape)) } : elementAt(tensors, op.writes);
  referenceOf(op)(tensors, params, output);
  return output;
}

/** Result of the same call as a one-op program on a backend. */
async function evaluateOn(backend: Backend, op: AnyOp, inputs: readonly (Input | undefined)[], params: object): Promise<ArrayLike<number>> {
  const program = createProgram();
  const refs = inputs.map((input, i) => input && declare(program, String(i), input));
  const result = program.record(op, refs, params);
  if (op.writes === undefined) program.output("y", result);
  const plan = await compileOrSkip(backend, program);
  try {
    for (const [i, input] of inputs.entries()) {
      if (input?.as === "persistent") await plan.load(String(i), sourceOf(input.stored));
    }
    const outputs = plan.run(Object.fromEntries(inputs.flatMap((input, i) => (input?.as === "input" ? [[String(i), input.stored]] : []))));
    if (op.writes !== undefined) return decode(elementAt(inputs, op.writes).spec, await plan.save(String(op.writes)));
    using y = named(outputs, "y");
    return decode(y.spec, await y.data());
  } finally {
    plan.dispose();
  }
}

function declare(program: Program, name: string, { spec, stored, as }: Input): Value {
  switch (as) {
    case "input":
      return program.input(name, spec.dtype, spec.shape);
    case "persistent":
      return program.persistent(name, spec);
    case "constant":
      return program.constant(stored, spec.dtype, spec.shape);
  }
}
