import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { request as secureRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { requireProgram, runProgram } from "./programs.ts";
import { caddy, freePort, LocalFile, nginx, type ProxyProgram, startProxy } from "./proxies.ts";

/** A server in place of both replicas, for a test. */
async function startReplica(answer: (response: ServerResponse) => void): Promise<readonly number[]> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return [port, port];
}

test.for<ProxyProgram>([caddy, nginx])("$program accepts its file", (proxy, context) => {
  requireProgram(proxy.program, context);
  using file = new LocalFile(proxy, { proxy: 8080, replicas: [8081, 8082] });
  runProgram(proxy.program, proxy.check(file.path), file.env);
});

test.for<ProxyProgram>([caddy, nginx])("$program sends a piece of a stream before the next one is there", async (proxy, context) => {
  requireProgram(proxy.program, context);
  const open: ServerResponse[] = [];
  const replicas = await startReplica((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: first\n\n");
    open.push(response);
  });
  const running = await startProxy(proxy, replicas);
  onTestFinished(() => running.close());
  const { body } = await fetch(`http://127.0.0.1:${running.port}/v1/chat/completions`, { method: "POST", body: "{}" });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe("data: first\n\n");
  open.at(-1)!.end("data: [DONE]\n\n");
  expect((await reader.read()).value).toBe("data: [DONE]\n\n");
  expect((await reader.read()).done).toBe(true);
  for (const response of open) response.end();
});

test("Caddy accepts its file with a host's name in place of the port, as for TLS", (context) => {
  requireProgram(caddy.program, context);
  using file = new LocalFile(caddy, { proxy: 8080, replicas: [8081, 8082] }, (given) => given.replace(/^:8080/m, "chat.example.com"));
  expect(readFileSync(file.path, "utf8")).toContain("chat.example.com {");
  runProgram(caddy.program, caddy.check(file.path), file.env);
});

test("nginx answers by TLS with the lines that are comments", async (context) => {
  requireProgram(nginx.program, context);
  requireProgram("openssl", context);
  using made = new LocalFile(nginx, { proxy: await freePort(), replicas: [] });
  const [key, certificate] = [join(made.folder, "key.pem"), join(made.folder, "certificate.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const algorithm = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  runProgram("openssl", ["req", "-x509", ...algorithm, ...names, "-keyout", key, "-out", certificate]);
  const withTls = (given: string): string =>
    given
      .replace(/\t\tlisten 8080;\n/, "")
      .replace(/# (listen|ssl_)/g, "$1")
      .replace("/etc/nginx/certificate.pem", certificate)
      .replace("/etc/nginx/key.pem", key);
  const replicas = await startReplica((response) => void response.end("answer"));
  const running = await startProxy(nginx, replicas, withTls);
  onTestFinished(() => running.close());
  const sent = secureRequest(`https://127.0.0.1:${running.port}/v1/models`, { ca: readFileSync(certificate) }).end();
  const [response] = (await once(sent, "response")) as [Parameters<typeof text>[0]];
  expect(await text(response)).toBe("answer");
});
