import { createProgram } from "@centella/core";
import { lower, type Step } from "@centella/core/backend";
import { describe, expect, test } from "vitest";
import { fusion, kernelTable } from "../../src/kernels/index.ts";
import { PtxBuilder } from "../../src/ptx/builder.ts";
import { f32Literal, f64Literal, missingFor } from "../../src/ptx/text.ts";
import { prepare } from "../interpreter/execute.ts";
import { call, f32, i32, launchesOf } from "./kernelTexts.ts";

describe("text", () => {
  test("literals hold every bit", () => {
    expect([1, -0, Math.PI, Number.NaN, Number.NEGATIVE_INFINITY].map(f32Literal)).toEqual([
      "0f3F800000",
      "0f80000000",
      "0f40490FDB",
      "0f7FC00000",
      "0fFF800000",
    ]);
    expect(f64Literal(0.1)).toBe("0d3FB999999999999A");
  });

  test("features beyond sm_80 are refused with what they need", () => {
    expect(missingFor("tensorMap", "sm_90")).toBeUndefined();
    expect(missingFor("warpgroupMatrix", "sm_90")).toBe("warpgroupMatrix needs sm_90a and PTX 8.0, the kernel is for sm_90 and PTX 8.0");
    expect(() => new PtxBuilder("k", [], 32).require("matrixStore")).toThrow("ptx k: matrixStore needs sm_90 and PTX 7.8");
  });

  test("a small kernel", () => {
    const k = new PtxBuilder("double", ["x"], 32);
    const at = k.at("f32", k.pointer("x", "f32"), k.thread());
    const value = k.ld("f32", at);
    k.if(k.compare("gt", value, 0), () => k.st("f32", at, k.add(value, value), 1));
    expect(k.text()).toMatchInlineSnapshot(`
      ".version 8.0
      .target sm_80
      .address_size 64
      .visible .entry double(.param .u64 x)
      .maxntid 32, 1, 1
      {
        .reg .pred %p<1>;
        .reg .b32 %u<1>;
        .reg .u64 %l<3>;
        .reg .f32 %f<2>;
        ld.param.u64 %l0, [x];
        cvta.to.global.u64 %l1, %l0;
        mov.u32 %u0, %tid.x;
        mad.wide.u32 %l2, %u0, 4, %l1;
        ld.global.f32 %f0, [%l2+0];
        setp.gt.f32 %p0, %f0, 0f00000000;
        @!%p0 bra $L0;
        add.rn.f32 %f1, %f0, %f0;
        st.global.f32 [%l2+4], %f1;
      $L0:
        ret;
      }
      "
    `);
  });

  test("kernels are reviewed as text", () => {
    expect(launchesOf(call("relu", [f32(3, 5)]))[0]).toMatchSnapshot();
    expect(launchesOf(call("add", [f32({ name: "T", max: 8 }, 5), f32(5)], {}, { T: 4 }))[0]).toMatchSnapshot();
    expect(launchesOf(call("embedding", [{ dtype: "f16", shape: [7, 4] }, i32(3)]))[0]).toMatchSnapshot();
    expect(launchesOf(call("sum", [f32(3, 5)], { axis: 0 }))[0]).toMatchSnapshot();
  });
});

test("a fused group is one kernel", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 8), 5]);
  const sum = program.add(x, program.input("row", "f32", [5]));
  program.output("y", program.relu(program.mul(program.leakyRelu(sum), program.input("s", "f32", []))));
  const { steps } = lower(program, "cuda", kernelTable.unsupported, { fusion });
  const [{ op, inputs, params }] = steps as [Step];
  const launches = launchesOf({ name: "fused", op, inputs: inputs.map((operand) => operand?.spec), params, bucket: { T: 4 } });
  expect(steps.length).toBe(1);
  expect(launches).toMatchSnapshot();
});

describe("structure", () => {
  test("a barrier where threads may differ is refused", () => {
    const k = new PtxBuilder("k", [], 32);
    const p = k.compare("lt", k.thread(), 7);
    expect(() => k.if(p, () => k.sync())).toThrow("ptx k: sync() inside divergent flow");
    const loop = new PtxBuilder("loop", [], 32);
    expect(() => loop.for(loop.thread(), 9, 1, () => loop.sync())).toThrow("divergent");
    new PtxBuilder("uniform", [], 32).forUniform(0, 9, 1, () => undefined);
  });

  test("reading a variable copies", () => {
    const k = new PtxBuilder("k", ["y"], 32);
    const v = k.variable("f32", 1);
    const before = v.get();
    v.set(2);
    k.st("f32", k.pointer("y", "f32"), before);
    expect(k.text()).toContain("mov.f32 %f1, %f0;\n  mov.f32 %f0, 0f40000000;");
    expect(k.text()).toContain("st.global.f32 [%l1+0], %f1;");
  });

  test("the same calls give the same bytes", () => {
    const make = (): readonly string[] => launchesOf(call("matmul", [f32(70, 33), f32(33, 65)])).map(({ ptx }) => ptx);
    expect(make()).toEqual(make());
    expect(prepare(make()[0]!).parsed.entry).toBe("matmulTiled_f32_nn");
  });

  test("wrong operands do not compile", () => {
    const k = new PtxBuilder("k", ["x"], 32);
    const [f, u, v] = [k.constant("f32", 1), k.constant("u32", 1), k.variable("f32", 0)];
    const [global, shared] = [k.pointer("x", "f32"), k.sharedMemory("f32", 1)];
    const wrong = (): void => {
      // @ts-expect-error: f32 and u32 do not add.
      k.add(f, u);
      // @ts-expect-error: a variable is no value; get() reads it.
      k.add(f, v);
      // @ts-expect-error: a float is no condition.
      k.select(f, f, f);
      // @ts-expect-error: an address of shared memory is not one of global memory.
      k.at("f32", shared, u);
      // @ts-expect-error: an address of floats holds no words.
      k.ld("u32", global);
      // @ts-expect-error: no remainder of floats.
      k.remainder(f, f);
    };
    expect(wrong).toBeTypeOf("function");
  });
});
