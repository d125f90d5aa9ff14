import { main } from "./commandLine.ts";
import { commandsFor } from "./commands/index.ts";

void main(commandsFor);
