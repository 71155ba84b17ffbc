import { join } from "node:path";
import { findActivationSocket } from "../../config/activation-socket.ts";
import type { Config } from "../../config/config.ts";
import { factsOf } from "../../panels/sections.ts";
import type { Relay } from "../../start/relay.ts";
import type { ServeOptions } from "../../start/serve-relay.ts";
import { startThreadAhead } from "../../store/sqlite/database-thread.ts";
import { command } from "../command.ts";
import { flag, reader, Unreadable } from "../options.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";

/** Events go to stderr, one JSON line each. */
export const serveCommand = command({
  name: "serve",
  summary: "receive, store, relay and show, until Ctrl-C",
  says: "receive alerts, store them, relay them and show the log, until SIGTERM or SIGINT; a changed configuration file is taken over",
  options: {
    supervised: flag(
      "run the relay as a child, which is started again when it dies, and on SIGHUP if `tocsin check` passes; alerts wait meanwhile",
    ),
    listenFd: reader(parseDescriptor)(
      "listen on this file descriptor, an open socket, instead of HOST and PORT (systemd's is found without)",
      { of: "number" },
    ),
  },
  examples: [
    "tocsin serve",
    "PORT=9000 TOCSIN_CONFIG=desk.yaml tocsin serve",
    "DATABASE_URL=postgres://tocsin:password@db:5432/tocsin tocsin serve   # the log in PostgreSQL",
    "tocsin serve --supervised   # kill -HUP checks, restarts the relay and refuses no alert",
  ],
  run: async ({ supervised, listenFd }, { context, output }) => {
    // Until the file is read, nothing can be taken over.
    context.onHangUp(() => {});
    const given = listenFd === undefined ? findActivationSocket(context) : { fd: listenFd };
    if (given.ignored !== undefined) await output.note(`warning: ${given.ignored}`).catch(() => {});
    if (supervised) return superviseRelay(context, output, given.fd);
    if (listenFd !== undefined) context.endWithParent();
    await serve(context, output, {
      listenFd: given.fd,
      onTakeOver: listenFd === undefined ? context.onHangUp : undefined,
    });
  },
});

/** Reads only the address from the configuration: the child reports all other mistakes. */
async function superviseRelay(context: CliContext, output: Output, fd: number | undefined): Promise<void> {
  const { readServer } = await import("../../config/server-env.ts");
  const { ConfigError, createProblemList } = await import("../../config/shape/problem-list.ts");
  const { createLog } = await import("../../start/log.ts");
  const { holdSocket } = await import("../../http/hold-socket.ts");
  const { supervise } = await import("../../start/supervise.ts");
  const problems = createProblemList(String, []);
  const { host, port } = readServer(context.env, problems);
  if (problems.problems.length > 0) throw new ConfigError(problems.problems);
  const socket = await holdSocket({ host, port, fd });
  const log = createLog("info");
  context.setExitStatus(await supervise(context, log, socket, output.json ? ["--json"] : []));
}

/** supervisord passes a socket as standard input. Output and error are for writing. */
function parseDescriptor(text: string): number {
  const fd = Number(text);
  if (/^\d{1,6}$/.test(text) && fd !== 1 && fd !== 2) return fd;
  throw new Unreadable("write the number of an open socket: 0, or 3 or above");
}

/** Runs until SIGTERM or SIGINT, and then until the relay has stopped in order. */
export async function serve(
  context: CliContext,
  output: Output,
  given: Pick<ServeOptions, "listenFd" | "picturesOnThisMachine" | "onTakeOver"> = {},
): Promise<void> {
  // Without PostgreSQL the log needs a thread, which loads while this one reads the configuration.
  if (context.env.DATABASE_URL === undefined) startThreadAhead();
  const { loadConfig } = await import("../../config/load-config.ts");
  const { findDataDirProblem } = await import("../../config/check-data-dir.ts");
  const { secretTextsOf } = await import("../../config/secret-texts.ts");
  const { secretsOf } = await import("../relay/run-own-relay.ts");
  const { createLog } = await import("../../start/log.ts");
  const { serveRelay } = await import("../../start/serve-relay.ts");

  const load = (fileText?: string) =>
    loadConfig({
      env: context.env,
      cwd: context.cwd,
      fileText,
      // `serve` writes there itself, so a folder that this user cannot write to is an error, not a warning.
      inspectDataDir: (path) => {
        const problem = findDataDirProblem(path);
        return problem && { ...problem, isOfUser: false };
      },
    });
  const first = load();
  const log = createLog(first.logLevel);
  await serveRelay({
    ...given,
    first,
    load,
    log,
    signal: context.signal,
    sleep: context.sleep,
    onConfig(config) {
      const { webhookSecret, adminToken } = config;
      log.hide(secretTextsOf(config, { webhookSecret, adminToken }));
      context.tellParent({ stopsWithinMs: config.server.drainMs + config.delivery.shutdownMs });
    },
    secretsOf: (config) => secretsOf(config, log),
    onStarted: (relay, config) => announce(relay, config, context, output),
  });
}

async function announce(relay: Relay, config: Config, context: CliContext, output: Output): Promise<void> {
  const { loginLink } = await import("../../contract/login-link.ts");
  // The link is dated by the clock of all relays, since another relay may be asked.
  const link = loginLink(relay.publicUrl, relay.secrets.adminToken, relay.store.now?.() ?? context.now());
  const destinations = config.rules.destinations.map(({ name }) => name);
  const { localUrl: url, publicUrl, secrets } = relay;
  await output.result({ url, publicUrl, destinations: destinations.length }, () =>
    factsOf([
      ["listening on", url],
      ["hook", `${publicUrl}/hooks/<secret>, the secret being ${whereSecretIs(config)}`],
      ["log page", `${publicUrl}/`],
      ["login link", (context.isTty.stdout || secrets.created.includes("admin-token")) && link],
      ["destinations", destinations.join(", ") || "none yet"],
    ]),
  );
  if (destinations.length === 0 && context.isTty.stderr) {
    await output.note(
      "No destination is configured: alerts are stored and shown, and go nowhere. Run tocsin start, or see docs/channels.md.",
    );
  }
}

function whereSecretIs(config: Config): string {
  if (config.webhookSecret !== undefined) return "WEBHOOK_SECRET";
  if (config.databaseUrl !== undefined) return "in the database: the page Account shows it";
  return `in ${join(config.dataDir, "secrets", "webhook-secret")}`;
}
