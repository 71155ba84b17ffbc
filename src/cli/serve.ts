import { join } from "node:path";
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { type CliContext, untilAborted } from "./shell/context.ts";
import { addExamples, type Output, openOutput } from "./shell/output.ts";

/** `tocsin serve`: receive, store, relay and show until SIGTERM or SIGINT. Events go to stderr, one JSON line each. */
export function registerServe(program: Command, context: CliContext): void {
  const command = program
    .command("serve")
    .description("receive alerts, store them, relay them and show the log, until SIGTERM or SIGINT")
    .action((_options: unknown, self: Command) => serve(context, openOutput(context, self)));
  addExamples(command, "tocsin serve", "PORT=9000 TOCSIN_CONFIG=desk.yaml tocsin serve");
}

async function serve(context: CliContext, output: Output): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { findDataDirProblem } = await import("../config/check-data-dir.ts");
  const { loadOrCreateSecrets } = await import("../config/generated-secrets.ts");
  const { secretTextsOf } = await import("../config/secret-texts.ts");
  const { createLog } = await import("../log.ts");
  const { startRelay } = await import("../app.ts");
  const { loginLink } = await import("../web/access/login-link.ts");

  const config = loadConfig({
    env: context.env,
    cwd: context.cwd,
    // `serve` writes there itself, so a folder that this user cannot write is an error and no warning.
    inspectDataDir: (path) => {
      const problem = findDataDirProblem(path);
      return problem && { ...problem, isOfUser: false };
    },
  });
  const secrets = await loadOrCreateSecrets(config.dataDir, config);
  const log = createLog({ level: config.logLevel, secrets: secretTextsOf(config, secrets) });
  for (const warning of config.warnings) log.warn("config.warning", { ...warning });

  let failure: Error | undefined;
  const failed = new AbortController();
  const onFailed = (error: Error) => {
    failure ??= error;
    failed.abort();
  };
  const relay = await startRelay({ config, secrets, log, onFailed });
  const link = loginLink(relay.publicUrl, secrets.adminToken, context.now());
  await output.result(
    { url: relay.localUrl, publicUrl: relay.publicUrl, destinations: config.rules.destinations.length },
    () =>
      output.fields([
        ["listening on", relay.localUrl],
        ["hook", `${relay.publicUrl}/hooks/<secret>, the secret being ${whereSecretIs(config)}`],
        ["log page", `${relay.publicUrl}/`],
        ...(context.isTty.stdout || secrets.created.includes("admin-token")
          ? [["login link", link] as [string, string]]
          : []),
        ["destinations", config.rules.destinations.map((destination) => destination.name).join(", ") || "none yet"],
      ]),
  );
  if (config.rules.destinations.length === 0 && context.isTty.stderr) {
    await output.note("No destination is configured: alerts are stored and shown, and go nowhere. See the README.");
  }
  await untilAborted(AbortSignal.any([context.signal, failed.signal]));
  const stopping = relay.stop();
  if (failure) {
    // Nothing more can be recorded; a supervisor is to start it anew, and what was accepted is on disk.
    stopping.catch(() => {});
    throw failure;
  }
  await stopping;
}

function whereSecretIs({ dataDir, webhookSecret }: Config): string {
  return webhookSecret === undefined ? `in ${join(dataDir, "secrets", "webhook-secret")}` : "WEBHOOK_SECRET";
}
