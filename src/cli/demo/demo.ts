import { command, type GivenOptions } from "../command.ts";
import { choice, flag, text, whole } from "../options.ts";
import { openOutput } from "../shell/output.ts";

const widestSetup = 100;

const options = {
  port: whole("port of the log page (default: PORT, 8080, or any free one)"),
  for: whole("end by itself after this many seconds (default: until Ctrl-C)", { of: "seconds" }),
  storm: whole("also send this many alerts at once, after ten seconds"),
  relays: whole(
    "2 to 5 relays on a PostgreSQL that is made for it, behind a small balancer, and how to kill one of them",
    { from: 2, to: 5 },
  ),
  onDatabaseUrl: flag("with --relays: in a database that is made, and removed, on the server of DATABASE_URL"),
  // What a demo with --relays starts this program anew for.
  part: choice(["relay", "postgres"], "what this process is of it", { isHidden: true }),
  leftovers: text("folder that the keeper of PostgreSQL removes when the demo cannot", { isHidden: true }),
};

export type DemoOptions = Partial<GivenOptions<typeof options>>;

/** `tocsin demo`: the whole job on this machine, with no account anywhere. */
export const demo = command({
  name: "demo",
  summary: "the whole job on this machine, with no account anywhere",
  says: "show the whole job on this machine: a service, the relay, and stand-ins for Telegram, mail, Slack, Discord and ntfy",
  options,
  examples: ["tocsin demo", "tocsin demo --storm 1000", "tocsin demo --relays 3"],
  run: async (given, { context, output }) => {
    if (given.part === "relay") {
      const { serve } = await import("../serve/serve.ts");
      context.endWithParent();
      return serve(context, output, { picturesOnThisMachine: true });
    }
    if (given.part === "postgres") {
      const { keepPostgres } = await import("./postgres-keeper.ts");
      return keepPostgres(context, given.leftovers);
    }
    const { runDemo } = await import("./run-demo.ts");
    // What setup says stands two columns further right.
    const columns = Math.min(context.columns ?? widestSetup, widestSetup) - 2;
    await runDemo(given, context, output, openOutput({ ...context, columns }, output.json));
  },
});
