import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection without an HTTP client, for what no client sends. */
export interface RawClient {
  readonly socket: Socket;
  /** What has come so far. */
  received(): string;
}

/** Connects to a listener's URL and sends bytes. */
export async function rawClient(url: string, text: string | Uint8Array = ""): Promise<RawClient> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.setEncoding("utf8");
  socket.on("data", (data: string) => {
    received += data;
  });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return { socket, received: () => received };
}
