import type { Config } from "../../config/config.ts";
import type { Said } from "../../contract/api.ts";
import type { Secret } from "../../core/secret.ts";
import { checkDestinations } from "../doctor/check-destinations.ts";
import { type Finding, toFinding } from "../doctor/finding.ts";
import { describeConfiguration } from "../doctor/run-doctor.ts";
import { connectRelay, localUrlOf } from "../relay/connect-relay.ts";
import type { RelayClient } from "../relay/relay-client.ts";
import { openReadOnly } from "../../store/open-read-only.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { askRelay, checkPublicUrl, type OwnHook } from "./check-public-url.ts";
import type { Stages } from "./stages.ts";

export interface ProofRun {
  context: CliContext;
  output: Output;
  config: Config;
  stages: Stages;
  options: { dryRun?: boolean };
  /** The relay that this run has started because none ran. Whoever began the run stops it. */
  ownRelay?: { stop(): Promise<void> };
}

/** The relay that is behind the public address, and that can be asked what becomes of an alert. */
export interface ProvenRelay {
  client: RelayClient;
  /** Another one after each start. */
  id: string;
  /** The names of its destinations. */
  destinations: string[];
}

/**
 * Proves, before the account is touched, that alerts would arrive: the configuration, the relay here, each destination,
 * and the way from outside. Where no relay runs it starts one, which sends what waits; with `--dry-run` it starts none.
 *
 * @returns undefined after a problem that did not stop (see `Stages`).
 * @throws AppError `failed` at the first stage with a problem.
 */
export async function prove(run: ProofRun, hook: OwnHook): Promise<ProvenRelay | undefined> {
  const { stages, config, context } = run;
  await stages.pass(describeConfiguration(config));

  await stages.begin("the relay");
  const here = await findRelayHere(run, hook);
  await stages.pass([here.finding]);

  await stages.begin("the destinations");
  await stages.pass(await checkEach(run, here.relay));

  await stages.begin(hook.url);
  const { maxBodyBytes } = config.intake;
  const outside = checkPublicUrl(hook, { now: context.now(), maxBodyBytes, signal: context.signal });
  let next = await outside.next();
  for (; next.done !== true; next = await outside.next()) await stages.pass([next.value]);
  const relayIds = next.value;
  if (relayIds === undefined) return undefined;
  if (here.relay !== undefined && !(await areOne(config, here.relay.id, relayIds))) {
    await stages.pass([anotherRelay(hook.url, here.relay.client.url)]);
    return undefined;
  }
  const relay = here.relay ?? (await findRelayThere(run, hook.url));
  return (
    relay && { client: relay.client, id: relayIds[0] ?? "", destinations: relay.destinations.map(({ name }) => name) }
  );
}

interface FoundRelay {
  client: RelayClient;
  id: string;
  destinations: Said<"listDestinations">;
}

/**
 * Where the configuration says that it listens on this machine. It has to know the secret before it is shown any other.
 * Where nothing listens here and no relay answers at the public address, this run becomes the relay until it ends, but
 * with `--dry-run`: a relay sends what waits.
 */
async function findRelayHere(run: ProofRun, hook: OwnHook): Promise<{ finding: Finding; relay?: FoundRelay }> {
  const check = "relay";
  const { config, context } = run;
  if (config.server.port === 0) {
    const detail = "PORT is 0, so it is not known where one listens here; the one behind PUBLIC_URL is asked";
    return { finding: { check, verdict: "skipped", detail } };
  }
  const url = localUrlOf(config);
  const ask = (place: string) => askRelay({ url: place, secret: hook.secret }, context.signal);
  let answer = await ask(url);
  if (answer.kind === "none" && (await ask(hook.url)).kind !== "proven") {
    if (run.options.dryRun) {
      const detail = `none runs on this machine (${url}), and --dry-run starts none: the address cannot be proven without one`;
      return { finding: { check, verdict: "skipped", detail, mend: "start one here with: tocsin serve" } };
    }
    const failure = await becomeRelay(run, url);
    if (failure !== undefined) return { finding: failure };
    answer = await ask(url);
  }
  if (answer.kind === "proven") return askStatus(run, url, answer.relay);
  if (answer.kind === "none") {
    const detail = `none runs on this machine (${url}); the one behind ${hook.url} is asked`;
    return { finding: { check, verdict: "skipped", detail, mend: "start one here with: tocsin serve" } };
  }
  if (answer.code !== "not_found" && new URL(url).origin === new URL(hook.url).origin) {
    const detail = `another program listens at ${url}, where the relay is to be`;
    const mend = "end that program, or set PORT to a free port, and PUBLIC_URL to where that is reached";
    return { finding: { check, verdict: "problem", detail, mend } };
  }
  const detail = `another program, or a relay with another secret, listens on this machine (${url}); the one behind ${hook.url} is asked`;
  const mend = "if the relay is to run here: end that program, or set PORT to a free port and let the proxy lead there";
  return { finding: { check, verdict: "skipped", detail, mend } };
}

async function becomeRelay(run: ProofRun, url: string): Promise<Finding | undefined> {
  const { context, output } = run;
  const place = new URL(url).host;
  await output.note(
    `No relay runs here, so setup answers on ${place} itself while it proves the address, and sends what waits.`,
  );
  try {
    const { runOwnRelay } = await import("../relay/run-own-relay.ts");
    run.ownRelay = (await runOwnRelay(context)).relay;
    return undefined;
  } catch (error) {
    return toFinding("relay", error);
  }
}

async function findRelayThere(run: ProofRun, url: string): Promise<FoundRelay | undefined> {
  const { finding, relay } = await askStatus(run, url, "");
  await run.stages.pass([finding]);
  return relay;
}

/** What becomes of the test is asked over the API, so it has to answer now. */
async function askStatus(
  { context, output }: ProofRun,
  url: string,
  id: string,
): Promise<{ finding: Finding; relay?: FoundRelay }> {
  const check = "relay";
  try {
    const { client } = await connectRelay({ context, output, flags: { url } });
    const { relay, destinations } = await client.readStatus();
    if (!relay.ready) {
      const detail = `running at ${url}, and not ready to take or deliver alerts: ${relay.reasons.join("; ")}`;
      const mend = "its log says more; most often the disk is full or cannot be written";
      return { finding: { check, verdict: "problem", detail, mend } };
    }
    return {
      finding: { check, verdict: "ok", detail: `running at ${url}, ready` },
      relay: { client, id, destinations },
    };
  } catch (error) {
    return { finding: toFinding(check, error) };
  }
}

/**
 * Each is asked whether delivery could work now: by this command as the configuration here has it, and by the relay
 * that runs where it has others, or says that one is not well.
 */
async function checkEach({ context, output, config }: ProofRun, relay: FoundRelay | undefined): Promise<Finding[]> {
  const own = config.rules.destinations.map(({ name }) => name);
  const known = relay?.destinations.map(({ name }) => name) ?? own;
  if (own.length === 0 && known.length === 0) {
    const detail = "none is configured, so no alert would reach anybody";
    const mend = "configure one: TELEGRAM_CHAT_IDS, EMAIL_TO, or destinations in tocsin.yaml";
    return [{ check: "destinations", verdict: "problem", detail, mend }];
  }
  const probed = await checkDestinations({ context, output, flags: {} }, config);
  const failed = new Set(probed.filter(({ verdict }) => verdict === "problem").map(({ check }) => check));
  const unknown = own.filter((name) => !known.includes(name) && !failed.has(`destination ${name}`));
  const others = relay?.destinations.filter(({ name, health }) => !own.includes(name) || health !== "ok") ?? [];
  const tried = await Promise.all(others.map(({ name }) => tryAtRelay(relay as FoundRelay, name)));
  return [...probed, ...tried, ...unknown.map(notYetThere)];
}

async function tryAtRelay({ client }: FoundRelay, name: string): Promise<Finding> {
  const check = `destination ${name}, of the running relay`;
  try {
    const { result, detail } = await client.tryDestination({ name });
    switch (result) {
      case "works":
      case "answers":
        return { check, verdict: "ok", detail: detail === "" ? result : `${result}: ${detail}` };
      case "parked":
        return { check, verdict: "warning", detail: `it has asked for silence for a while: ${detail}` };
      case "fails":
        return {
          check,
          verdict: "problem",
          detail,
          mend: `put it right, restart the relay if its configuration was at fault, then: tocsin destinations try ${name}`,
        };
      default:
        return result satisfies never;
    }
  } catch (error) {
    return toFinding(check, error);
  }
}

function notYetThere(name: string): Finding {
  return {
    check: `destination ${name}`,
    verdict: "problem",
    detail: "the configuration here has it, and the relay that runs does not",
    mend: "restart the relay, so that it reads its configuration; or run this with the relay's own configuration",
  };
}

/** Relays on one PostgreSQL have one log: a balancer may ask any of them. */
async function areOne(config: Config, here: string, there: string[]): Promise<boolean> {
  const areHere = there.every((id) => id === here);
  if (areHere || config.databaseUrl === undefined) return areHere;
  const store = await openReadOnly(config);
  try {
    const running = (await store.listRelays()).map(({ id }) => id);
    return [here, ...there].every((id) => running.includes(id));
  } finally {
    await store.close();
  }
}

function anotherRelay(publicUrl: string, localUrl: string): Finding {
  return {
    check: "public URL",
    verdict: "problem",
    detail: `the relay behind ${publicUrl} is another one than that at ${localUrl}, though both know this secret`,
    mend: "let the name lead to this relay, or run setup where that one runs; give each relay a secret of its own",
  };
}

/** Where a relay that knows the secret is found, without any further proof: at its public address, or on this machine. */
export async function findTaker({ context, config }: ProofRun, { url, secret }: OwnHook): Promise<string | undefined> {
  const places = config.server.port === 0 ? [url] : [url, localUrlOf(config)];
  for (const place of places) {
    if ((await askRelay({ url: place, secret }, context.signal)).kind === "proven") return place;
  }
  return undefined;
}

/**
 * Waits until the running relay takes a secret that was made just now: it looks for one each second, and refuses what
 * comes with it before. `known`: the secret that it takes already.
 */
export async function awaitSecret(run: ProofRun, url: string, secret: Secret, known: Secret): Promise<void> {
  const { context, stages } = run;
  await stages.begin("whether the relay takes the new secret");
  for (let left = 10; left > 0; left -= 1) {
    const answer = await askRelay({ url, secret }, context.signal, known);
    if (answer.kind === "proven") return;
    if (left > 1) await context.sleep(1_000, context.signal);
  }
  await stages.pass([
    {
      check: "new secret",
      verdict: "problem",
      detail:
        "it was made, and the relay that runs does not take it; the account still has the old one, which is taken",
      mend: "see that this runs as the relay's user, with its DATA_DIR or DATABASE_URL, and restart the relay; then run setup once more",
    },
  ]);
}
