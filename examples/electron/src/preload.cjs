// Hands the channel to the page, which has no access to Node or Electron.
const { ipcRenderer } = require("electron");

ipcRenderer.on("engine", ({ ports }) => window.postMessage("engine", "*", ports));
