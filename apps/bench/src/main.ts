import { main } from "./cli/main.ts";

void main(process.argv.slice(2)).then((code) => {
  // Some peers leave threads behind that would keep the process alive.
  process.exit(code);
});
