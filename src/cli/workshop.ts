import { existsSync } from "node:fs";
import { AppError } from "../core/errors.ts";
import { command, type GivenOptions, type Run } from "./command.ts";
import { choice, flag, reader, text, Unreadable, whole } from "./options.ts";

/** Repeated here, because the help must not load the workshop. A test compares both lists. */
const shapes = ["flat", "nested", "text", "form", "batch", "minimal"] as const;

const demoFlags = {
  port: whole("port of the log page (default: PORT, 8080, or any free one)"),
  for: whole("end by itself after this many seconds (default: until Ctrl-C)", { of: "seconds" }),
  storm: whole("also send this many alerts at once, after ten seconds"),
  relays: whole(
    "2 to 5 relays on a PostgreSQL that is made for it, behind a small balancer, and how to kill one of them",
    { from: 2, to: 5 },
  ),
  onDatabaseUrl: flag("with --relays: in a database that is made, and removed, on the server of DATABASE_URL"),
  // For the processes that a demo with --relays starts.
  part: choice(["relay", "postgres"], "what this process is of it", { isHidden: true }),
  leftovers: text("folder that the keeper of PostgreSQL removes when the demo cannot", { isHidden: true }),
};

const sandboxFlags = {
  port: whole("port to listen on; 0 takes any free one", { default: "4010", to: 65_535 }),
  host: text("address to listen on", { of: "address", default: "127.0.0.1" }),
  key: text("API key of its account; made up and printed when absent"),
  speed: reader(parseAmount)("how many times faster than the clock its market and its waiting run", {
    of: "x",
    default: "1",
  }),
  storm: whole("fire this many alerts at once as soon as an output is set", { to: 100_000 }),
  data: text("folder that keeps its state over a restart; without it nothing is kept", { of: "dir" }),
  metrics: whole("how many metrics its catalogue has", { default: "50000", from: 100, to: 1_000_000 }),
  shape: choice(shapes, "form of its notifications (default: flat)"),
};

export type DemoFlags = Partial<GivenOptions<typeof demoFlags>>;
export type SandboxFlags = GivenOptions<typeof sandboxFlags>;

/** The installed package has no folder `workshop`. Only this file of `src` knows it. */
export interface Workshop {
  demo(flags: DemoFlags, run: Run): Promise<void>;
  /** Runs until SIGTERM or SIGINT. */
  sandbox(flags: SandboxFlags, run: Run): Promise<void>;
}

export const demo = command({
  name: "demo",
  summary: "the whole job on this machine, with no account anywhere",
  says: "show the whole job on this machine: a service, the relay, and stand-ins for Telegram, mail, Slack, Discord and ntfy",
  options: demoFlags,
  examples: ["tocsin demo", "tocsin demo --storm 1000", "tocsin demo --relays 3"],
  run: async (flags, run) => (await loadWorkshop("demo")).demo(flags, run),
});

export const sandbox = command({
  name: "sandbox",
  summary: "a local service, with a market that moves",
  says: "run a local implementation of the alerting service, with a market that moves, until stopped",
  options: sandboxFlags,
  environment: {
    SANDBOX_BOT_TOKEN: "bot that sends alerts to the account's messenger channel; without it none is sent there",
    SANDBOX_BOT_API_ROOT: "its Bot API server (default: https://api.telegram.org)",
  },
  examples: ["tocsin sandbox", "tocsin sandbox --speed 20 --storm 1000 --data ./sandbox-data"],
  run: async (flags, run) => (await loadWorkshop("sandbox")).sandbox(flags, run),
});

async function loadWorkshop(name: keyof Workshop): Promise<Workshop> {
  // The build puts its own file in this place (`scripts/bundle.mjs`).
  const entry = new URL("../../workshop/main.ts", import.meta.url);
  if (existsSync(entry)) return import(entry.href);
  throw new AppError(
    "failed",
    `tocsin ${name} is not part of the installed package: it runs in a clone of Tocsin's repository`,
    { hint: "clone the repository, run npm ci && npm run build in it, and then this command there" },
  );
}

function parseAmount(text: string): number {
  if (!/^\d{1,4}(\.\d{1,3})?$/.test(text) || Number(text) < 0.01 || Number(text) > 1_000) {
    throw new Unreadable("give a number from 0.01 to 1000, such as 20 or 0.5");
  }
  return Number(text);
}
