import type { Config } from "../../config/config.ts";
import type { Said } from "../../contract/api.ts";
import { countRefused, type Trouble } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { type Finding, ok, problem, skipped, toFinding, warning } from "../../core/finding.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { toSeconds } from "../../ground/time/time-format.ts";
import { readVersion } from "../../ground/version.ts";
import { helpsOf } from "../../panels/health.ts";
import { checkPublicUrl } from "../../upstream/check-public-url.ts";
import { connectRelay, type RelayRun, readKeptSecret } from "../relay/connect-relay.ts";

type Status = Said<"readStatus">;

export async function checkRelay(run: RelayRun, config: Config): Promise<Finding[]> {
  const { client } = await connectRelay(run);
  // Asked without the token first, so a wrong token does not look like a relay that is down.
  const isReady = await client.isReady();
  try {
    const status = await client.readStatus();
    const { ready, reasons, socketIsHeld } = status.relay;
    return [
      describeRunning(client.url, ready, `: ${reasons.join("; ")}`),
      ok("admin token", "the relay takes it"),
      describeSocket(socketIsHeld),
      ...(status.troubles ?? []).map((trouble) => describeTrouble(trouble, status)),
      ...describeVersions(status, readVersion()),
      ...describeWell(status),
      ...compare(status, config),
    ];
  } catch (error) {
    const isRefused = error instanceof AppError && error.code === "unauthorized";
    return [describeRunning(client.url, isReady), toFinding(isRefused ? "admin token" : "relay's status", error)];
  }
}

export function describeRunning(url: string, isReady: boolean, reasons = ""): Finding {
  if (isReady) return ok("relay", `running at ${url}, ready`);
  const detail = `running at ${url}, and not ready to take or deliver alerts${reasons}`;
  return problem("relay", detail, "its log says more; most often the disk is full or cannot be written");
}

function describeSocket(isHeld: boolean | undefined): Finding {
  if (isHeld) return ok("restarts", "alerts that arrive meanwhile wait in the socket");
  const mend =
    "to avoid that, start it by deploy/tocsin.socket and deploy/tocsin.service, or by: tocsin serve --supervised";
  return warning("restarts", "alerts are refused during a restart", mend);
}

function describeVersions({ relays }: Status, ofCommand: string): Finding[] {
  const others = relays.filter(({ version }) => version !== ofCommand);
  if (others.length === 0) return [];
  const each = others.map(({ name, version }) => `${name} runs Tocsin ${version}`);
  const detail = `${each.join(", ")}, and this command is ${ofCommand}`;
  return [warning("relays", detail, "bring all of them to one version, one after the other")];
}

/** Good results that are worth a line, and watches that can never report anything. */
function describeWell({ watches, canary, silence, sources }: Status): Finding[] {
  const isTold = watches.some(({ name, verdict }) => name === "sources" && verdict === "trouble");
  const heartbeat = watches.find(({ name, verdict }) => name === "heartbeat" && verdict !== "trouble");
  const last = canary?.lastOkAt;
  const came = last === undefined ? "the first is about to be sent" : `last arrived ${toSeconds(last)}`;
  return [
    ...(heartbeat ? [ok("heartbeat", heartbeat.summary)] : []),
    ...(canary && canary.state !== "fails" ? [ok("canary", came)] : []),
    ...silence.flatMap(({ of, name, learning }) => {
      if (learning === undefined || learning.days < learning.daysNeeded) return [];
      const detail = `alerts are too rare for auto (${learning.arrivals} spans with one in six weeks): silence would never be reported`;
      return [
        warning(name === undefined ? "silence" : `silence of ${of} ${name}`, detail, "write a time instead of auto"),
      ];
    }),
    ...sources.flatMap(({ name, accepted, lastAcceptedAt = 0, lastRefusedAt = 0, ...source }) => {
      const refused = countRefused(source);
      if (isTold || refused === 0) return [];
      const passes =
        lastAcceptedAt >= lastRefusedAt ? `its sender passes (${accepted} accepted)` : "none has passed after it";
      const detail = `${countOf(refused, "request")} refused since the start; ${passes}`;
      return [warning(`source ${name}`, detail, `see what was refused: tocsin refused list --source ${name}`)];
    }),
  ];
}

/** Parts of the configuration here that the running relay does not have: it has not read them yet. */
function compare({ watches, canary, sources }: Status, config: Config): Finding[] {
  const mend = "restart the relay, or give it the same configuration";
  const unsent = "it is configured here, and the running relay sends none";
  const unread = "it is configured here, and the running relay does not know it: its sender gets 404";
  const hasHeartbeat = watches.some(({ name }) => name === "heartbeat");
  return [
    ...(config.heartbeat !== undefined && !hasHeartbeat ? [warning("heartbeat", unsent, mend)] : []),
    ...(config.canary && canary === undefined ? [warning("canary", unsent, mend)] : []),
    ...config.sources
      .filter(({ name }) => sources.every((one) => one.name !== name))
      .map(({ name }) => problem(`source ${name}`, unread, mend)),
  ];
}

/** The way to the relay from outside, as this machine sees it. Gives the faults, or one line that all is well. */
export async function checkAddress({ context }: RelayRun, config: Config): Promise<Finding[]> {
  const check = "public URL";
  const { publicUrl } = config.server;
  if (publicUrl === undefined) {
    const detail = "PUBLIC_URL is not set, so no sender outside of this machine has an address to send to";
    return [warning(check, detail, "set it to the address by which the internet reaches this relay")];
  }
  const secret = config.webhookSecret ?? (await readKeptSecret(config, "webhook-secret"))?.secret;
  if (secret === undefined) return [skipped(check, "there is no hook secret yet; it is made when the relay starts")];
  const findings: Finding[] = [];
  const hook = { url: publicUrl, secret, serviceUrl: config.upstream.alerting?.url };
  const look = { now: context.now(), maxBodyBytes: config.intake.maxBodyBytes, signal: context.signal };
  for await (const finding of checkPublicUrl(hook, look)) {
    if (finding.verdict !== "ok") findings.push(finding);
  }
  if (findings.some(({ verdict }) => verdict === "problem")) return findings;
  return [ok(check, `${publicUrl}/hooks/*** is this relay's hook`), ...findings];
}

export function describeTrouble(trouble: Trouble, status?: Said<"readStatus">): Finding {
  const { kind, level, name, what, since, until, notes, reason } = trouble;
  const began = since === undefined ? "" : ` since ${toSeconds(since)}`;
  const ends = until === undefined ? "" : ` until ${toSeconds(until)}`;
  return {
    check: checkNames[kind]?.(name) ?? (name === undefined ? "routing" : `deliveries to ${name}`),
    verdict: level === "bad" ? "problem" : "warning",
    detail: [`${what}${began}${ends}${reason === undefined ? "" : `: ${reason}`}`, ...notes].join(" · "),
    mend: mendOf(trouble, status),
  };
}

/** The names of troubles that concern no delivery. */
const checkNames: Partial<Record<Trouble["kind"], (name?: string) => string>> = {
  store: () => "database",
  spool: () => "spool",
  reading: () => "reading",
  muted: () => "mutes",
  lane: () => "relays",
  relay: () => "relays",
  watch: (name = "watch") => name,
  canary: () => "canary",
  silence: (name) => (name === undefined ? "silence" : `silence of ${name}`),
};

function mendOf(trouble: Trouble, status: Said<"readStatus"> | undefined): string | undefined {
  const { kind, name, what, reason } = trouble;
  const commands = helpsOf(trouble).flatMap(({ command }) => (command === "tocsin doctor" ? [] : (command ?? [])));
  switch (kind) {
    case "watch": {
      const lines = status?.watches.find((watch) => watch.name === name)?.troubles ?? [];
      return lines.map((line) => line.split(`${what}. `).at(-1)).join(" ") || undefined;
    }
    case "canary":
      if (status?.canary?.stage === "routed") return "see: tocsin status";
      return status?.canary?.stage === "body"
        ? "let the proxy pass the bodies of /hooks/ as they come"
        : "see what is found at the public URL, and whether it leads to this relay";
    case "silence":
      return "see whether the sender still sends to this address; if the quiet is meant, mute it at Silence on the page";
    case "destination":
      return `see below what the destination itself says; when it is put right: ${commands.join(", then: ")}`;
    case "relay":
      return reason === undefined
        ? "restart it with the newer one; to go back, restart all of them with the former one"
        : "its log says more";
    case "store":
      return status?.disk.damage === undefined ? undefined : "see whether the database is damaged: tocsin backup FILE";
    default:
      return commands.length === 0 ? undefined : `run: ${commands.join(", then: ")}`;
  }
}
