import type { Said } from "../../contract/api.ts";
import { type Finding, ok, problem, skipped, toFinding, warning } from "../../core/finding.ts";
import type { Secret } from "../../core/secret.ts";
import { askRelay, checkPublicUrl } from "../../upstream/check-public-url.ts";
import { checkDestinations } from "../doctor/check-destinations.ts";
import { describeRunning } from "../doctor/check-relay.ts";
import { describeConfiguration } from "../doctor/run-doctor.ts";
import { connectRelay, localUrlOf, type RelayClient } from "../relay/connect-relay.ts";
import type { RegisteringRun } from "./run-setup.ts";

export interface Stage<R> {
  of: string;
  /** A problem among its findings ends the run, unless the run changes nothing anyway. */
  look(run: R): Promise<Finding[]> | AsyncIterable<Finding>;
}

/** The relay that can be asked about the test. */
export interface FoundRelay {
  client: RelayClient;
  /** The ids of the relays of one log, which a balancer may ask in turn. Each start has a new id. */
  relays: string[];
  destinations: Said<"listDestinations">;
}

/**
 * Checks that alerts would arrive. Starts a relay where none runs, which sends waiting alerts. Not with `--dry-run`.
 */
export const proofs: readonly Stage<RegisteringRun>[] = [
  { of: "the configuration", look: async ({ config }) => describeConfiguration(config) },
  { of: "the relay", look: lookForRelay },
  { of: "the destinations", look: checkEach },
  { of: "the public address", look: lookFromOutside },
];

/**
 * A relay must know the secret before it is shown any other. Where none listens here or answers at the public address,
 * this run becomes the relay, unless `--dry-run`: a relay sends waiting alerts.
 */
async function lookForRelay(run: RegisteringRun): Promise<Finding[]> {
  const { config, context, hook, options } = run;
  const check = "relay";
  const asked = `the one behind ${hook.url} is asked`;
  if (config.server.port === 0)
    return [skipped(check, "PORT is 0, so it is not known where one listens here; the one behind PUBLIC_URL is asked")];
  const url = localUrlOf(config);
  const none = `none runs on this machine (${url})`;
  const mend = "start one here with: tocsin serve";
  const ask = (place: string) => askRelay({ url: place, secret: hook.secret }, context.signal);
  let answer = await ask(url);
  if (answer.kind === "none" && (await ask(hook.url)).kind !== "proven") {
    if (options.dryRun)
      return [skipped(check, `${none}, and --dry-run starts none: the address cannot be proven without one`, mend)];
    const failure = await becomeRelay(run, url).catch((error) => toFinding(check, error));
    if (failure !== undefined) return [failure];
    answer = await ask(url);
  }
  if (answer.kind === "proven") return [await askStatus(run, url, answer.relay)];
  if (answer.kind === "none") return [skipped(check, `${none}; ${asked}`, mend)];
  if (answer.code !== "not_found" && new URL(url).origin === new URL(hook.url).origin) {
    const remedy = "end that program, or set PORT to a free port, and PUBLIC_URL to where that is reached";
    return [problem(check, `another program listens at ${url}, where the relay is to be`, remedy)];
  }
  const other = `another program, or a relay with another secret, listens on this machine (${url}); ${asked}`;
  const remedy = "end that program, or set PORT to a free port and let the proxy lead there";
  return [skipped(check, other, `if the relay is to run here: ${remedy}`)];
}

async function becomeRelay(run: RegisteringRun, url: string): Promise<void> {
  await run.output.note(
    `No relay runs here, so setup answers on ${new URL(url).host} itself while it proves the address, and sends what waits.`,
  );
  const { runOwnRelay } = await import("../relay/run-own-relay.ts");
  run.ownRelay = (await runOwnRelay(run.context)).relay;
}

/** The relay is asked later about the test over the API, so the API must answer now. */
async function askStatus(run: RegisteringRun, url: string, id = ""): Promise<Finding> {
  try {
    const { client } = await connectRelay({ ...run, flags: { url } });
    const { relay, relays, destinations } = await client.readStatus();
    if (relay.ready) run.relay = { client, relays: [id, ...relays.map((one) => one.id)], destinations };
    return describeRunning(url, relay.ready, `: ${relay.reasons.join("; ")}`);
  } catch (error) {
    return toFinding("relay", error);
  }
}

/** Asks each destination from here. Asks the relay where it has other destinations, or one has a trouble. */
async function checkEach({ context, output, config, relay }: RegisteringRun): Promise<Finding[]> {
  const own = config.rules.destinations.map(({ name }) => name);
  const known = relay?.destinations.map(({ name }) => name) ?? own;
  if (own.length === 0 && known.length === 0) {
    const detail = "none is configured, so no alert would reach anybody";
    const mend = "configure one: TELEGRAM_CHAT_IDS, EMAIL_TO, or destinations in tocsin.yaml";
    return [problem("destinations", detail, mend)];
  }
  const probed = await checkDestinations({ context, output, flags: {} }, config);
  const failed = new Set(probed.filter(({ verdict }) => verdict === "problem").map(({ check }) => check));
  const unknown = own.filter((name) => !known.includes(name) && !failed.has(`destination ${name}`));
  const others = relay?.destinations.filter(({ name, health }) => !own.includes(name) || health !== "ok") ?? [];
  const tried = await Promise.all(others.map(({ name }) => tryAtRelay(relay as FoundRelay, name)));
  const notYet = "the configuration here has it, and the relay that runs does not";
  const mend = "restart the relay, so that it reads its configuration; or run this with the relay's own configuration";
  return [...probed, ...tried, ...unknown.map((name) => problem(`destination ${name}`, notYet, mend))];
}

async function tryAtRelay({ client }: FoundRelay, name: string): Promise<Finding> {
  const check = `destination ${name}, of the running relay`;
  try {
    const { result, detail } = await client.tryDestination({ name });
    if (result === "parked") return warning(check, `it has asked for silence for a while: ${detail}`);
    if (result !== "fails") return ok(check, detail === "" ? result : `${result}: ${detail}`);
    const mend = `put it right, restart the relay if its configuration was at fault, then: tocsin destinations try ${name}`;
    return problem(check, detail, mend);
  } catch (error) {
    return toFinding(check, error);
  }
}

/** The relay outside must be the one here, or one of the same log. Where none runs here, it is the one to ask. */
async function* lookFromOutside(run: RegisteringRun): AsyncGenerator<Finding> {
  const { config, context, hook, relay: here } = run;
  run.relay = undefined;
  const { maxBodyBytes } = config.intake;
  const relays = yield* checkPublicUrl(hook, { now: context.now(), maxBodyBytes, signal: context.signal });
  if (relays === undefined) return;
  if (here === undefined) yield askStatus(run, hook.url);
  else if (relays.every((id) => here.relays.includes(id))) run.relay = here;
  else {
    yield problem(
      "public URL",
      `the relay behind ${hook.url} is another one than that at ${here.client.url}, though both know this secret`,
      "let the name lead to this relay, or run setup where that one runs; give each relay a secret of its own",
    );
  }
}

/**
 * The running relay looks for new secrets each second. `known`: the secret that it already accepts. Without the other
 * checks, a relay that accepts `known` is looked for at the public address and on this machine.
 */
export function awaitSecret(secret: Secret, known: Secret): Stage<RegisteringRun> {
  return {
    of: "whether the relay takes the new secret",
    async look({ context, config, hook, relay }) {
      const { signal, sleep } = context;
      const places = config.server.port === 0 ? [hook.url] : [hook.url, localUrlOf(config)];
      let taker = relay && hook.url;
      for (const url of taker === undefined ? places : []) {
        if ((await askRelay({ url, secret: known }, signal)).kind === "proven") taker ??= url;
      }
      if (taker === undefined) return [];
      for (let tries = 1; tries <= 10; tries += 1) {
        if (tries > 1) await sleep(1_000, signal);
        if ((await askRelay({ url: taker, secret }, signal, known)).kind === "proven") return [];
      }
      const untaken = "the relay that runs does not take it; the account still has the old one, which is taken";
      const mend =
        "see that this runs as the relay's user, with its DATA_DIR or DATABASE_URL, and restart the relay; then run setup once more";
      return [problem("new secret", `it was made, and ${untaken}`, mend)];
    },
  };
}
