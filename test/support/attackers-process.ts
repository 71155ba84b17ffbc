// The process of those who attack a relay: `attackers-process.ts <name, or "all together"> <target as JSON>`, until it is ended.
import { attacks, type Target } from "./attackers.ts";

const [name, target] = process.argv.slice(2) as [string, string];
const chosen = Object.entries(attacks).filter(([each]) => name === "all together" || each === name);
for (const [, attack] of chosen) void attack(JSON.parse(target) as Target, new AbortController().signal);
process.once("disconnect", () => process.exit());
// Connections that nobody reads keep no process alive.
setInterval(() => {}, 60_000);
