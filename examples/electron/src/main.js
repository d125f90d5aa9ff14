import { fileURLToPath } from "node:url";
import { app, BrowserWindow, MessageChannelMain, utilityProcess } from "electron";

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

await app.whenReady();
// The engine has a process of its own: windows and the main process stay responsive, and none of them ends with it.
// A packaged app keeps it outside of the archive: it reads its model and the scripts of its threads from files.
const engine = utilityProcess.fork(pathOf("engine.js").replace("app.asar", "app.asar.unpacked"));

const window = new BrowserWindow({ width: 640, height: 480, webPreferences: { preload: pathOf("preload.cjs") } });
// The window and the engine talk by a channel of their own.
window.webContents.on("did-finish-load", () => {
  const { port1, port2 } = new MessageChannelMain();
  engine.postMessage("window", [port1]);
  window.webContents.postMessage("engine", null, [port2]);
});
await window.loadFile(pathOf("index.html"));

app.on("window-all-closed", () => app.quit());
