import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A proxy that runs. */
export interface RunningProxy {
  readonly port: number;
  close(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A proxy of this example, with its file. */
export interface ProxyProgram {
  readonly program: string;
  readonly file: string;
  /** The file for this machine: what it has for other hosts is replaced, and it writes to `folder` alone. */
  readonly localized: (text: string, ports: Ports, folder: string) => string;
  /** Arguments that run the proxy, and that check its file. */
  readonly run: (path: string) => readonly string[];
  readonly check: (path: string) => readonly string[];
}

/** Where a proxy listens, and the ports of both replicas. */
export interface Ports {
  readonly proxy: number;
  readonly replicas: readonly number[];
}

const withReplicas = (text: string, { replicas }: Ports): string =>
  text.replace(/centella-(\d):8080/g, (_, number: string) => `127.0.0.1:${replicas[Number(number) - 1]}`);

export const caddy: ProxyProgram = {
  program: "caddy",
  file: "Caddyfile",
  localized: (text, ports) =>
    `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n${withReplicas(text, ports).replace(/^:8080/m, `http://127.0.0.1:${ports.proxy}`)}`,
  run: (path) => ["run", "--adapter", "caddyfile", "--config", path],
  check: (path) => ["validate", "--adapter", "caddyfile", "--config", path],
};

const nginxTemporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

export const nginx: ProxyProgram = {
  program: "nginx",
  file: "nginx.conf",
  localized(text, ports, folder) {
    const paths = nginxTemporary.map((name) => `\t${name}_temp_path ${folder}/${name};\n`).join("");
    return `daemon off;\npid ${folder}/nginx.pid;\n${withReplicas(text, ports)
      .replace("http {\n", `http {\n\taccess_log off;\n${paths}`)
      .replace(/listen \d+/, `listen 127.0.0.1:${ports.proxy}`)}`;
  },
  run: (path) => ["-e", "stderr", "-c", path],
  check: (path) => ["-t", "-e", "stderr", "-c", path],
};

/** A proxy's file for this machine, in a folder that is removed with it. */
export class LocalFile implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "centella-deploy-"));
  readonly path: string;
  /** Programs write only here. */
  readonly env: NodeJS.ProcessEnv = { HOME: this.folder, XDG_DATA_HOME: this.folder, XDG_CONFIG_HOME: this.folder };

  constructor({ file, localized }: ProxyProgram, ports: Ports, edit: (text: string) => string = (text) => text) {
    const text = readFileSync(fileURLToPath(new URL(`../${file}`, import.meta.url)), "utf8");
    this.path = join(this.folder, file);
    writeFileSync(this.path, localized(edit(text), ports, this.folder));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** Starts a proxy of this example in front of two replicas, and waits until it listens. `edit` changes its file first. */
export async function startProxy(proxy: ProxyProgram, replicas: readonly number[], edit?: (text: string) => string): Promise<RunningProxy> {
  const port = await freePort();
  const file = new LocalFile(proxy, { proxy: port, replicas }, edit);
  const child = spawn(proxy.program, proxy.run(file.path), { env: { ...process.env, ...file.env }, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ended = once(child, "close");
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${proxy.program}: expected a proxy that starts, got\n${log}`);
    await wait(20);
  }
  return {
    port,
    async close() {
      child.kill();
      await ended;
      file[Symbol.dispose]();
    },
  };
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy());
}
