import { type Config, requireSource, type SourceSettings } from "../config/config.ts";
import type { HookSecrets } from "../config/generated-secrets.ts";
import { AppError } from "../core/errors.ts";
import { describeCheck } from "../core/source.ts";
import { paragraph } from "../panels/sections.ts";
import { type KnownSource, sourcesPanel } from "../panels/sources.ts";
import { command, type GivenOptions, type Run } from "./command.ts";
import { configFile, flag, text } from "./options.ts";
import { readConfig, withConfig } from "./relay/connect-relay.ts";
import type { Output } from "./shell/output.ts";

const options = {
  reveal: flag("show the secret part of the addresses; missing secrets are made"),
  rotate: text("make a new secret for its address; the old one is taken as well until --retire", { of: "name" }),
  retire: text("stop taking its former addresses", { of: "name" }),
  config: configFile,
};

/** Asks no relay. A running one takes over new secrets within a second. */
export const sources = command({
  name: "sources",
  summary: "the addresses of the named hooks",
  says: "the named hooks of the configuration, and the addresses that their senders post to",
  options,
  check: ({ rotate: one, retire: other }) =>
    one === undefined || other === undefined
      ? undefined
      : "--rotate and --retire do not go together: between them the sender gets the new address",
  examples: [
    "tocsin sources",
    "tocsin sources --reveal   # to enter them at the senders",
    "tocsin sources --rotate github --reveal",
  ],
  run: async (given, run) => showSources(given, withConfig(run, given.config)),
});

async function showSources(given: GivenOptions<typeof options>, { context, output }: Run): Promise<void> {
  const config = await readConfig(context);
  if (given.rotate !== undefined) await rotate(config, given.rotate, output);
  if (given.retire !== undefined) await retire(config, given.retire, output);
  const secrets = given.reveal ? await readSecrets(config) : undefined;
  const known = config.sources.map(
    ({ name, checks, definedAt }): KnownSource => ({
      name,
      address: `${addressOf(config)}/hooks/${secrets?.get(name)?.[0].reveal() ?? "…"}`,
      ...(secrets && { former: (secrets.get(name)?.length ?? 1) - 1 }),
      checks: checks.map(describeCheck),
      definedAt,
    }),
  );
  await output.result(
    known,
    () =>
      sourcesPanel(known, { isOpen: true }) ||
      paragraph`No source is configured: all senders post to the one hook (see docs/sources.md).`,
  );
}

async function readSecrets(config: Config): Promise<ReadonlyMap<string, HookSecrets>> {
  const [{ loadSourceSecrets }, { withKept }] = await loadSecretRooms();
  return withKept(config, (kept) => loadSourceSecrets(kept, config.sources));
}

async function rotate(config: Config, name: string, output: Output): Promise<void> {
  const { account } = findGenerated(config, name, "rotate");
  const [{ rotateSecret }, { withKept }] = await loadSecretRooms();
  await withKept(config, (kept) => rotateSecret(kept, `source-${name}`));
  const enter =
    account === undefined
      ? "enter the new one at its sender (--reveal shows it)"
      : `run: tocsin setup --source ${name}`;
  await output.note(
    `${name} has a new address, and the old one is taken as well: ${enter}, then: tocsin sources --retire ${name}`,
  );
}

async function retire(config: Config, name: string, output: Output): Promise<void> {
  const source = findGenerated(config, name, "retire");
  const [{ forgetPreviousSecrets, loadSourceSecrets }, { withKept }] = await loadSecretRooms();
  const former = await withKept(config, async (kept) => {
    const [, ...found] = (await loadSourceSecrets(kept, [source])).get(name) ?? [];
    await forgetPreviousSecrets(kept, `source-${name}`);
    return found;
  });
  await output.note(
    former.length === 0
      ? `${name} has no former address: nothing was changed`
      : `requests to the former address of ${name} are answered 404 from now on`,
  );
}

const loadSecretRooms = () => Promise.all([import("../config/generated-secrets.ts"), import("../store/with-kept.ts")]);

/** Finds a source whose secret Tocsin has made. A configured secret is changed in the configuration. */
function findGenerated({ sources }: Config, name: string, what: "rotate" | "retire"): SourceSettings {
  const found = requireSource(sources, name);
  if (found.secret === undefined) return found;
  const hint =
    what === "rotate"
      ? `list the new variable before the old one, secret: ["\${NEW}", "\${OLD}"], and restart the relay`
      : "remove the old variable from the list, and restart the relay";
  throw new AppError("usage", `the secret of ${name} comes from the configuration (${found.definedAt})`, { hint });
}

function addressOf({ server: { publicUrl, host, port } }: Config): string {
  return publicUrl ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
