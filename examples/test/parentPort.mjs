// Electron's `process.parentPort` in a process that Node has forked: one window, whose port is the channel to the parent.
import { EventEmitter } from "node:events";

const port = new EventEmitter();
port.start = () => process.on("message", (data) => port.emit("message", { data }));
port.postMessage = (data) => process.send(data);

process.parentPort = new EventEmitter();
process.parentPort.on("newListener", () => setImmediate(() => process.parentPort.emit("message", { data: "window", ports: [port] })));
