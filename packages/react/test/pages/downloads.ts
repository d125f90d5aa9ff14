import { cleanup, configure, render, screen, waitFor } from "@testing-library/react";
import { createElement as h, type ReactNode, StrictMode } from "react";
import { afterEach, expect, test } from "vitest";
import { CentellaProvider, type UsedModel, useModel } from "../../src/index.ts";

// Run in a page alone: a worker downloads from a server that stops half-way until it is told to go on.
configure({ asyncUtilTimeout: 60_000 });

const { server } = (await (await fetch("/server.json")).json()) as { readonly server: string };
const keepMs = 100;
const started: Worker[] = [];
let ended = 0;

function startWorker(): Worker {
  const worker = new Worker("/engine.js", { type: "module" });
  const terminate = worker.terminate.bind(worker);
  started.push(
    Object.assign(worker, {
      terminate: () => {
        ended++;
        terminate();
      },
    }),
  );
  return worker;
}

let given: UsedModel;
const source = (name: string): string => new URL(name, server).href;

function Status({ name }: { readonly name: string }): ReactNode {
  given = useModel(source(name), { contextLength: 64 });
  return h("p", null, given.status);
}

const page = (...children: readonly ReactNode[]): ReactNode =>
  h(StrictMode, null, h(CentellaProvider, { worker: startWorker, keepMs }, ...children));

/** Waits until about half of the file is there. */
async function halfWay(): Promise<void> {
  await screen.findByText("downloading");
  await waitFor(() => expect(given.bytes).toBeGreaterThan(given.totalBytes! / 3));
}

/** The first bytes of the requests for a file. */
const startsOf = async (name: string): Promise<readonly number[]> => (await fetch(`${source(name)}?starts`)).json();
const goOn = (name: string) => fetch(`${source(name)}?go-on`);

afterEach(async () => {
  cleanup();
  await waitFor(() => expect(ended).toBe(started.length));
});

test("a component that is mounted, unmounted and mounted again in mid-download downloads once", async () => {
  const { rerender } = render(page(h(Status, { name: "once.gguf" })));
  await halfWay();
  rerender(page());
  rerender(page(h(Status, { name: "once.gguf" })));
  expect(given.status).toBe("downloading");
  await goOn("once.gguf");
  await screen.findByText("ready");
  expect(await startsOf("once.gguf")).toEqual([0]);
  expect(started).toHaveLength(1);
});

test("a download that nobody waits for ends, and the next one goes on where it stopped", async () => {
  const { rerender } = render(page(h(Status, { name: "twice.gguf" })));
  await halfWay();
  const { load, bytes } = given;
  const ended = expect(load()).rejects.toMatchObject({ name: "AbortError" });
  rerender(page());
  await ended;
  await goOn("twice.gguf");
  rerender(page(h(Status, { name: "twice.gguf" })));
  await screen.findByText("ready");
  const starts = await startsOf("twice.gguf");
  // Between them the file was compared with the server's.
  expect(starts[0]).toBe(0);
  expect(starts.at(-1)).toBeGreaterThan(bytes / 2);
});
