import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { describeCheck } from "../core/source.ts";
import { withConfig } from "./relay/connect-relay.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, type Output, openOutput } from "./shell/output.ts";

interface SourcesOptions {
  config?: string;
  reveal?: boolean;
}

/** `tocsin sources`: the named hooks of the configuration and where their senders post to. Asks no relay. */
export function registerSources(program: Command, context: CliContext): void {
  const command = program
    .command("sources")
    .description("the named hooks of the configuration, and the addresses that their senders post to")
    .option("--reveal", "show the secret part of the addresses; those that have none yet are made")
    .option("--config <file>", "the YAML file to read, instead of TOCSIN_CONFIG or ./tocsin.yaml")
    .action((options: SourcesOptions, self: Command) => showSources(options, context, openOutput(context, self)));
  addExamples(command, "tocsin sources", "tocsin sources --reveal   # to enter them at the senders");
}

interface ShownSource {
  name: string;
  address: string;
  checks: string[];
  definedAt: string;
}

async function showSources(options: SourcesOptions, base: CliContext, output: Output): Promise<void> {
  const { context } = withConfig({ context: base, output, flags: {} }, options.config);
  const { loadConfig } = await import("../config/load-config.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const secretOf = options.reveal ? await readSecrets(config) : () => "…";
  const sources = config.sources.map(
    ({ name, checks, definedAt }): ShownSource => ({
      name,
      address: `${addressOf(config)}/hooks/${secretOf(name)}`,
      checks: checks.map(describeCheck),
      definedAt,
    }),
  );
  await output.result(sources, () => formatSources(sources, output));
}

async function readSecrets({ dataDir, sources }: Config): Promise<(name: string) => string> {
  const { loadSourceSecrets } = await import("../config/generated-secrets.ts");
  const secrets = await loadSourceSecrets(dataDir, sources);
  return (name) => secrets.get(name)?.reveal() ?? "…";
}

function addressOf({ server: { publicUrl, host, port } }: Config): string {
  return publicUrl ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function formatSources(sources: ShownSource[], output: Output): string {
  if (sources.length === 0)
    return "No source is configured: all senders post to the one hook (see docs/configuration.md).\n";
  return output.table(
    [{ title: "source" }, { title: "address", keep: true }, { title: "check" }, { title: "defined at" }],
    sources.map(({ name, address, checks, definedAt }) => [name, address, checks.join(", ") || "none", definedAt]),
  );
}
