import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import { connect } from "node:tls";
import type { Finding } from "../core/finding.ts";
import * as found from "../core/finding.ts";
import type { Secret } from "../core/secret.ts";
import { bareHost, internalKindOf } from "../ground/net/internal-address.ts";
import { readIpAddress } from "../ground/net/ip-ranges.ts";
import { isLoopback } from "../ground/net/local-host.ts";
import { findNetworkError, isTlsCode, nameNetworkCode, networkCodeOf } from "../ground/net/network-code.ts";
import { whenAborted, withTimeLimit } from "../ground/net/time-limit.ts";
import { countOf } from "../ground/text/count-of.ts";
import {
  type AddressAnswer,
  askOnce,
  describeSpoiling,
  probeBytes,
  proveAddress,
  writeProbe,
} from "./prove-address.ts";

/** The relay that should be behind an address. */
export interface OwnHook {
  /** The relay's address, without a final slash. */
  url: string;
  secret: Secret;
  /** The address of the service that should send there. Absent: unknown. */
  serviceUrl?: string;
}

interface Look {
  /** Epoch milliseconds, for the remaining time of a certificate. */
  now: number;
  maxBodyBytes: number;
  signal: AbortSignal;
}

const check = "public URL";
const ok = (detail: string) => found.ok(check, detail);
const warning = (detail: string, mend: string) => found.warning(check, detail, mend);
const problem = (detail: string, mend: string) => found.problem(check, detail, mend);

/** The limit of each stage, milliseconds. */
const limitMs = 5_000;
const dayMs = 86_400_000;

/**
 * Tests a relay's hook from outside, stage by stage, up to the first problem. Nothing is stored. The secret is sent
 * only to a relay that has shown that it knows the secret. Throws only for an interruption.
 * @returns the ids of the relays that have answered, if there was no problem
 */
export async function* checkPublicUrl(hook: OwnHook, look: Look): AsyncGenerator<Finding, string[] | undefined> {
  const relays = new Set<string>();
  for (const stage of [checkName, checkTls, checkOwnPath, checkBody]) {
    const finding = await stage(hook, look, relays);
    yield finding;
    if (finding.verdict === "problem") return undefined;
  }
  return [...relays];
}

const hostOf = (url: string) => bareHost(new URL(url).hostname);

async function checkName({ url, serviceUrl }: OwnHook, { signal }: Look): Promise<Finding> {
  const host = hostOf(url);
  if (isLoopback(host)) {
    if (serviceUrl === undefined || isLoopback(hostOf(serviceUrl))) return ok(`the name ${host} is this machine`);
    const detail = `${host} is this machine's own name, under which the service does not reach it`;
    return problem(detail, "set PUBLIC_URL to the address that the internet reaches this relay by");
  }
  if (isIP(host) !== 0) return judgeAddresses(host, [host]);
  try {
    const found = await withTimeLimit(limitMs, signal, ({ signal: limit }) =>
      Promise.race([lookup(host, { all: true }), whenAborted(limit)]),
    );
    const addresses = found.map(({ address }) => address);
    return judgeAddresses(host, addresses);
  } catch (error) {
    signal.throwIfAborted();
    const code = networkCodeOf(error);
    const detail = code === "ENOTFOUND" ? "is not known" : "could not be looked up";
    return problem(
      `the name ${host} ${detail} (${nameNetworkCode(code ?? "no answer in time")})`,
      "let a DNS record of that name lead to this relay, or correct PUBLIC_URL",
    );
  }
}

/** A name may have another address in this network than outside, so an internal one is no problem by itself. */
function judgeAddresses(host: string, addresses: string[]): Finding {
  const kinds = addresses.map((address) => internalKindOf(readIpAddress(address) ?? ""));
  const shown = addresses.slice(0, 4).join(", ");
  const detail = shown === host ? `${host} is an address` : `the name ${host} is ${shown}`;
  if (kinds.includes(undefined)) return ok(detail);
  return warning(
    `${detail}, which is ${kinds[0]}: nobody outside this network reaches that`,
    "see that the name means another address outside, or set PUBLIC_URL to the one that the internet knows",
  );
}

async function checkTls({ url }: OwnHook, { now, signal }: Look): Promise<Finding> {
  const { protocol, port, host: where } = new URL(url);
  const host = hostOf(url);
  if (protocol !== "https:") {
    if (isLoopback(host)) return ok("without TLS, which this machine does not need for itself");
    const detail = "without TLS: the hook's secret and all alerts travel in the clear";
    return warning(detail, "put a proxy with a certificate in front, and set PUBLIC_URL to https://…");
  }
  try {
    const { valid_to: until, issuer } = await withTimeLimit(limitMs, signal, async (limit) => {
      const servername = isIP(host) === 0 ? host : undefined;
      const socket = connect({ host, port: Number(port || 443), servername, ALPNProtocols: ["http/1.1"] });
      try {
        await once(socket, "secureConnect", { signal: limit.signal });
        return socket.getPeerCertificate();
      } finally {
        // Later errors of this socket do not matter.
        socket.on("error", () => {}).destroy();
      }
    });
    const days = Math.floor((Date.parse(until) - now) / dayMs);
    const by = [issuer?.O, issuer?.CN].flat().find((name) => name !== undefined) ?? "an unnamed authority";
    const detail = `TLS with a certificate of ${by}, good for ${days} days`;
    return days < 14 ? warning(detail, "see that it is renewed by itself before that") : ok(detail);
  } catch (error) {
    signal.throwIfAborted();
    const { code = "ABORT_ERR" } = findNetworkError(error) ?? {};
    return describeTlsFailure(code === "ABORT_ERR" ? "no answer in time" : code, where);
  }
}

const noChain = [
  "the certificate of WHERE comes without those that vouch for it",
  "let the proxy send the whole chain, mostly a file named fullchain",
] as const;
const noAuthority = [
  "nobody whom this machine trusts vouches for the certificate of WHERE",
  "get one that all trust",
] as const;
const noTls = ["what answers at WHERE does not speak TLS as expected", "let the proxy take https there"] as const;

/** The words for each of Node's codes: what is wrong, and what to do. */
const tlsFailures: Record<string, readonly [what: string, mend: string]> = {
  CERT_HAS_EXPIRED: ["the certificate of WHERE has expired", "renew it, and see why it was not renewed by itself"],
  CERT_NOT_YET_VALID: ["the certificate of WHERE is not valid yet", "set this machine's clock, or wait"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["the certificate of WHERE is for another name", "get one for the name in PUBLIC_URL"],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: noChain,
  UNABLE_TO_GET_ISSUER_CERT: noChain,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: noChain,
  DEPTH_ZERO_SELF_SIGNED_CERT: noAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: noAuthority,
  EPROTO: noTls,
};

function describeTlsFailure(code: string, where: string): Finding {
  const unnamed = isTlsCode(code)
    ? (["no secure connection to WHERE could be made", "check the certificate there"] as const)
    : (["nothing answers at WHERE from this machine", mends.unreachable] as const);
  const [what, mend] = tlsFailures[code] ?? (code.startsWith("ERR_SSL") ? noTls : unnamed);
  return problem(`${what.replace("WHERE", where)} (${nameNetworkCode(code)})`, mend);
}

/** Whether a relay that knows the secret is there. The secret is not sent. Throws only for an interruption. */
export function askRelay({ url, secret }: OwnHook, signal: AbortSignal, known?: Secret): Promise<AddressAnswer> {
  return proveAddress(`${url}/hooks/${secret.reveal()}`, secret, { signal, known });
}

const mends = {
  unreachable: "start the relay (tocsin serve); check DNS, the proxy and the firewall in front of it",
  otherSecret:
    "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL of the relay " +
    "behind that address, and restart that relay if it is older than this command",
  somethingElse: "let the proxy pass /hooks/ to the relay unchanged",
  changedBody: "let the proxy pass the bodies of /hooks/ as they come: not stored, compressed or rewritten",
  limitedBody: "let the proxy pass bodies of 1 MiB to /hooks/ (nginx: client_max_body_size 1m)",
};

const codeBehind = ({ code }: { code?: string }) => (code === undefined ? "" : ` (${nameNetworkCode(code)})`);

function refuseAnswer(answer: Exclude<AddressAnswer, { kind: "proven" }>): Finding {
  if (answer.kind === "none")
    return problem(`nothing answers there from this machine${codeBehind(answer)}`, mends.unreachable);
  const { status, location, code } = answer;
  if (status === 404 && code === "not_found")
    return problem("a relay answers there, but does not know this secret", mends.otherSecret);
  if (status >= 300 && status < 400) {
    const target = location !== undefined && URL.canParse(location) ? ` to ${new URL(location).origin}` : "";
    const detail = `it is redirected (${status}${target}), and senders of webhooks do not follow`;
    return problem(detail, "set PUBLIC_URL to where it leads, or let the proxy not redirect /hooks/");
  }
  if ([401, 403, 407].includes(status)) {
    const detail = `something in front of the relay lets nobody through (${status})`;
    return problem(detail, "let /hooks/ pass without a login; its secret is in the path");
  }
  if (status >= 502 && status <= 504)
    return problem(`the proxy there does not reach the relay (${status})`, mends.unreachable);
  return problem(`something else answers there with ${status}`, mends.somethingElse);
}

/** Sends the secret to a relay that knows it. The hook refuses any method but POST, which shows the path. */
async function checkOwnPath(hook: OwnHook, { signal }: Look, relays: Set<string>): Promise<Finding> {
  const proof = await askRelay(hook, signal);
  if (proof.kind !== "proven") return refuseAnswer(proof);
  relays.add(proof.relay);
  const { url, secret } = hook;
  const answer = await askOnce(`${url}/hooks/${secret.reveal()}`, signal);
  if (answer.kind === "answer" && answer.status === 405) return ok(`${url}/hooks/*** is this relay's hook`);
  const said = answer.kind === "answer" ? `is answered with ${answer.status}` : "is not answered";
  return problem(`this relay is behind ${url}, but its hook's own path ${said}`, mends.somethingElse);
}

/** Asks with POST, as alerts come: something in front may refuse, limit or change just that. */
async function checkBody({ url, secret }: OwnHook, look: Look, relays: Set<string>): Promise<Finding> {
  const { maxBodyBytes, signal } = look;
  const body = writeProbe(maxBodyBytes);
  const size = countOf(body.length, "byte");
  const answer = await proveAddress(`${url}/hooks/${secret.reveal()}`, secret, { signal, body });
  const spoiling = describeSpoiling(body, answer);
  if (answer.kind === "proven") {
    relays.add(answer.relay);
    if (spoiling !== undefined) return problem(`an alert ${spoiling}`, mends.changedBody);
    const detail = `an alert of ${size} arrives whole`;
    if (maxBodyBytes >= probeBytes) return ok(detail);
    const mend = `raise intake.maxBodyBytes: some services send ${countOf(probeBytes, "byte")}`;
    return warning(`${detail}, and the relay refuses larger ones`, mend);
  }
  if (answer.kind === "none")
    return problem(`an alert of ${size} gets no answer there${codeBehind(answer)}`, mends.somethingElse);
  if (spoiling !== undefined) {
    const mend = answer.code === "too_large" ? "raise intake.maxBodyBytes of the relay" : mends.limitedBody;
    return problem(`an alert ${spoiling}`, mend);
  }
  if (answer.status === 404 && answer.code === "not_found") {
    const detail = "the relay there is older than this command, so it cannot say whether alerts arrive whole";
    return problem(detail, "restart it with this version");
  }
  const { detail, mend = mends.somethingElse } = refuseAnswer(answer);
  return problem(`an alert, sent by POST: ${detail}`, mend);
}
