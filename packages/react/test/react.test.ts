// @vitest-environment happy-dom
import { DeviceLostError } from "@centella/core";
import type { EngineModel } from "@centella/llm/store";
import { cleanup, configure, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Component, createElement as h, type ReactNode, StrictMode, Suspense } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CentellaProvider, type UsedModel, type UseModelOptions, useModel, useModels } from "../src/index.ts";
import { CountedEngine, CountedSource } from "./engine.ts";

// The first model compiles modules, too.
configure({ asyncUtilTimeout: 60_000 });

const sizes = { contextLength: 64 } as const;
const keepMs = 30;

let engine: CountedEngine;
let source: CountedSource;
/** What the components were last given, by their names. */
const given: Record<string, UsedModel> = {};

beforeEach(() => {
  engine = new CountedEngine();
  source = new CountedSource();
});
afterEach(async () => {
  cleanup();
  await waitFor(() => expect(engine.disposed).toBe(engine.opened));
  vi.restoreAllMocks();
});

function Status({ name = "a", options = sizes }: { readonly name?: string; readonly options?: UseModelOptions }): ReactNode {
  given[name] = useModel(source, options);
  return h(
    "p",
    null,
    `${name} ${given[name].status}`,
    h("button", { onClick: () => void given[name]!.load(), type: "button" }, `load ${name}`),
  );
}

function List(): ReactNode {
  return h(
    "output",
    null,
    useModels()
      .map(({ status }) => status)
      .join(" "),
  );
}

const page = (...children: readonly ReactNode[]): ReactNode =>
  h(StrictMode, null, h(CentellaProvider, { runtime: engine.runtime, keepMs }, ...children));

const shows = (text: string): Promise<HTMLElement> =>
  screen.findByText((_, element) => element?.tagName === "P" && element.firstChild?.textContent === text);

/** A promise, and the function that resolves it. */
function gate(): { readonly promise: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

/** Shows the message of an error of its children. */
class Boundary extends Component<{ readonly children?: ReactNode }, { readonly message?: string }> {
  override state: { readonly message?: string } = {};

  static getDerivedStateFromError(error: Error): { readonly message: string } {
    return { message: error.message };
  }

  override render(): ReactNode {
    return this.state.message === undefined ? this.props.children : h("p", null, this.state.message);
  }
}

describe("useModel", () => {
  test("loads once where a component is mounted, unmounted and mounted again, and unloads when it has left", async () => {
    const held = gate();
    source.gate = held.promise;
    const { rerender } = render(page(h(Status)));
    await shows("a checking");
    rerender(page());
    rerender(page(h(Status)));
    held.open();
    await shows("a ready");
    expect([source.loads, engine.opened]).toEqual([1, 1]);
    const { model } = given.a!;
    rerender(page());
    await waitFor(() => expect(model!.embed(["a"])).rejects.toMatchObject({ code: "disposed" }));
    expect(engine.disposed).toBe(0);
    rerender(page(h(Status)));
    await shows("a ready");
    expect([source.loads, engine.opened]).toEqual([2, 1]);
  });

  test("ends a load whose last component has left, and the engine with the page", async () => {
    const held = gate();
    source.gate = held.promise;
    const { unmount } = render(page(h(Status)));
    await shows("a checking");
    const loading = given.a!.load();
    const ended = expect(loading).rejects.toMatchObject({ name: "AbortError" });
    unmount();
    await new Promise((resolve) => setTimeout(resolve, 2 * keepMs));
    held.open();
    await ended;
    expect(source.loads).toBe(0);
  });

  test("shares a model between components with equal sources and options", async () => {
    render(page(h(Status), h(Status, { name: "b", options: { ...sizes } }), h(List)));
    await Promise.all([shows("a ready"), shows("b ready")]);
    expect(given.b!.model).toBe(given.a!.model);
    expect(source.loads).toBe(1);
    expect(screen.getByRole("status").textContent).toBe("ready");
    // Observed from both components.
    await given.a!.model!.createSession().complete("Once", { maxTokens: 2, temperature: 0 });
    await waitFor(() => expect(given.b!.tokensPerSecond).toEqual(expect.any(Number)));
    await given.b!.unload();
    await shows("a idle");
  });

  test("keeps models with different options apart, on one engine", async () => {
    render(page(h(Status), h(Status, { name: "b", options: { contextLength: 32 } }), h(List)));
    await Promise.all([shows("a ready"), shows("b ready")]);
    expect(given.b!.model!.info.contextLength).toBe(32);
    expect(given.a!.model!.info.contextLength).toBe(64);
    expect([source.loads, engine.opened]).toEqual([2, 1]);
    expect(screen.getByRole("status").textContent).toBe("ready ready");
  });

  test("shows an error, keeps the page, and loads again on request", async () => {
    source.problem = new Error("the drive is gone");
    render(page(h(Status)));
    await shows("a error");
    expect(String(given.a!.error)).toContain("the drive is gone");
    source.problem = undefined;
    fireEvent.click(screen.getByText("load a"));
    await shows("a ready");
    expect(given.a!.error).toBeUndefined();
  });

  test("shows a loss, and loads again on a new engine", async () => {
    render(page(h(Status)));
    await shows("a ready");
    const session = given.a!.model!.createSession();
    const loss = new DeviceLostError("gpu", "a test");
    // The signal's reason stands for the error of a device: a turn rejects with either.
    await expect(session.complete("Once", { signal: AbortSignal.abort(loss) })).rejects.toBe(loss);
    await shows("a lost");
    fireEvent.click(screen.getByText("load a"));
    await shows("a ready");
    expect([engine.opened, engine.disposed]).toEqual([2, 0]);
  });

  test("waits for load() if it is lazy, and goes back to idle when it is cancelled", async () => {
    const held = gate();
    source.gate = held.promise;
    render(page(h(Status, { options: { ...sizes, lazy: true } })));
    await shows("a idle");
    expect(engine.opened).toBe(0);
    const cancelled = expect(given.a!.load()).rejects.toMatchObject({ name: "AbortError" });
    await shows("a checking");
    given.a!.cancel();
    await shows("a idle");
    held.open();
    await cancelled;
    let model: EngineModel | undefined;
    given.a!.load().then((loaded) => {
      model = loaded;
    });
    await shows("a ready");
    expect(given.a!.model).toBe(model);
  });

  test("suspends on request, and throws the error of a load", async () => {
    const suspense = (): ReactNode =>
      page(h(Boundary, null, h(Suspense, { fallback: h("p", null, "waiting") }, h(Status, { options: { ...sizes, suspense: true } }))));
    const held = gate();
    source.gate = held.promise;
    render(suspense());
    await shows("waiting");
    held.open();
    await shows("a ready");
    expect(source.loads).toBe(1);
    cleanup();
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    source.problem = new Error("the drive is gone");
    render(suspense());
    await screen.findByText(/the drive is gone/);
  });
});
