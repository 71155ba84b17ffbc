import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { connect, type PeerCertificate } from "node:tls";
import type { Secret } from "../../core/secret.ts";
import { isLoopback } from "../../ground/net/local-host.ts";
import { isTlsCode, nameNetworkCode, networkCodeOf } from "../../ground/net/network-code.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { countBytes } from "../../ground/text/plain-text.ts";
import {
  type AddressAnswer,
  askOnce,
  describeSpoiling,
  probeBytes,
  proveAddress,
  writeProbe,
} from "../../upstream/prove-address.ts";
import { bareHost, createAddressPolicy } from "../../vendors/http/address-policy.ts";
import type { Finding } from "../doctor/finding.ts";

/** What is to be behind an address. */
export interface OwnHook {
  /** Of the relay, without a slash at its end. */
  url: string;
  secret: Secret;
  /** Where the service is that is to send there; absent: not known. */
  serviceUrl?: string;
}

interface Look {
  /** Epoch milliseconds, for what is left of a certificate. */
  now: number;
  /** The largest that the relay takes. */
  maxBodyBytes: number;
  signal: AbortSignal;
}

const check = "public URL";
/** For each stage. */
const limitMs = 5_000;
const soonMs = 14 * 86_400_000;

/**
 * Looks at a relay's hook as somebody outside does, stage by stage: the name, TLS, whether this relay is behind the hook's
 * path, and whether a body as large as a real alert arrives there whole. Ends after the first problem. Nothing is stored
 * there, and before the relay has proven itself the secret is not sent there. Never throws but for an interruption.
 *
 * @returns the ids of the relays that have answered, if there was no problem.
 */
export async function* checkPublicUrl(hook: OwnHook, look: Look): AsyncGenerator<Finding, string[] | undefined> {
  const url = new URL(hook.url);
  const relays = new Set<string>();
  const stages = [
    () => checkName(url, hook.serviceUrl, look),
    () => checkTls(url, look),
    () => checkOwnPath(hook, look, relays),
    () => checkBody(hook, look, relays),
  ];
  for (const stage of stages) {
    const finding = await stage();
    yield finding;
    if (finding.verdict === "problem") return undefined;
  }
  return [...relays];
}

async function checkName({ hostname }: URL, serviceUrl: string | undefined, { signal }: Look): Promise<Finding> {
  const host = bareHost(hostname);
  const serviceHost = serviceUrl === undefined ? undefined : bareHost(new URL(serviceUrl).hostname);
  if (isLoopback(host)) {
    const isSameMachine = serviceHost === undefined || isLoopback(serviceHost);
    if (isSameMachine) return { check, verdict: "ok", detail: `the name ${host} is this machine` };
    return {
      check,
      verdict: "problem",
      detail: `${host} is this machine's own name, under which the service does not reach it`,
      mend: "set PUBLIC_URL to the address that the internet reaches this relay by",
    };
  }
  if (isIP(host) !== 0) return judgeAddresses(host, [host]);
  try {
    const found = await withTimeLimit(limitMs, signal, (limit) =>
      Promise.race([lookup(host, { all: true }), untilAborted(limit.signal)]),
    );
    return judgeAddresses(
      host,
      found.map(({ address }) => address),
    );
  } catch (error) {
    signal.throwIfAborted();
    const code = networkCodeOf(error);
    const detail = code === "ENOTFOUND" ? "is not known" : "could not be looked up";
    return {
      check,
      verdict: "problem",
      detail: `the name ${host} ${detail} (${nameNetworkCode(code ?? "no answer in time")})`,
      mend: "let a DNS record of that name lead to this relay, or correct PUBLIC_URL",
    };
  }
}

/** A name may well mean another address in this network than outside, so what is internal is no problem by itself. */
function judgeAddresses(host: string, addresses: string[]): Finding {
  const policy = createAddressPolicy([]);
  const kinds = addresses.map((address) => policy.refuse(host, address));
  const shown = addresses.slice(0, 4).join(", ");
  const detail = shown === host ? `${host} is an address` : `the name ${host} is ${shown}`;
  if (kinds.some((kind) => kind === undefined)) return { check, verdict: "ok", detail };
  return {
    check,
    verdict: "warning",
    detail: `${detail}, which is ${kinds[0]}: nobody outside this network reaches that`,
    mend: "see that the name means another address outside, or set PUBLIC_URL to the one that the internet knows",
  };
}

async function checkTls(url: URL, { now, signal }: Look): Promise<Finding> {
  const host = bareHost(url.hostname);
  if (url.protocol !== "https:") {
    if (isLoopback(host))
      return { check, verdict: "ok", detail: "without TLS, which this machine does not need for itself" };
    return {
      check,
      verdict: "warning",
      detail: "without TLS: the hook's secret and all alerts travel in the clear",
      mend: "put a proxy with a certificate in front, and set PUBLIC_URL to https://…",
    };
  }
  try {
    const { valid_to: until, issuer } = await withTimeLimit(limitMs, signal, (limit) => shakeHands(url, limit.signal));
    const leftMs = Date.parse(until) - now;
    const days = Math.floor(leftMs / 86_400_000);
    const by = [issuer?.O, issuer?.CN].flat().find((name) => name !== undefined) ?? "an unnamed authority";
    const detail = `TLS with a certificate of ${by}, good for ${days} days`;
    if (!(leftMs < soonMs)) return { check, verdict: "ok", detail };
    return { check, verdict: "warning", detail, mend: "see that it is renewed by itself before that" };
  } catch (error) {
    signal.throwIfAborted();
    return { check, verdict: "problem", ...describeTlsFailure(networkCodeOf(error), url) };
  }
}

/** The certificate, which this machine trusts for that name. Rejects with the error of Node. */
function shakeHands(url: URL, signal: AbortSignal): Promise<PeerCertificate> {
  const host = bareHost(url.hostname);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(url.port || 443),
      servername: isIP(host) === 0 ? host : undefined,
      ALPNProtocols: ["http/1.1"],
    });
    const abort = () => socket.destroy(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    socket.once("secureConnect", () => {
      resolve(socket.getPeerCertificate());
      socket.end();
    });
    socket.on("error", reject);
    socket.once("close", () => {
      signal.removeEventListener("abort", abort);
      reject(new Error("closed"));
    });
  });
}

function describeTlsFailure(code = "no answer in time", url: URL): { detail: string; mend: string } {
  const where = url.host;
  const says = (what: string, mend: string) => ({ detail: `${what} (${nameNetworkCode(code)})`, mend });
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return says(`the certificate of ${where} has expired`, "renew it, and see why it was not renewed by itself");
    case "CERT_NOT_YET_VALID":
      return says(`the certificate of ${where} is not valid yet`, "set this machine's clock, or wait");
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return says(`the certificate of ${where} is for another name`, "get one for the name in PUBLIC_URL");
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return says(
        `the certificate of ${where} comes without those that vouch for it`,
        "let the proxy send the whole chain, mostly a file named fullchain",
      );
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
      return says(`nobody whom this machine trusts vouches for the certificate of ${where}`, "get one that all trust");
    default:
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return says(`what answers at ${where} does not speak TLS as expected`, "let the proxy take https there");
  }
  if (isTlsCode(code)) return says(`no secure connection to ${where} could be made`, "check the certificate there");
  return says(`nothing answers at ${where} from this machine`, mendOf("unreachable"));
}

/** Whether a relay that knows the secret is there. The secret is not sent. Throws only for an interruption. */
export function askRelay({ url, secret }: OwnHook, signal: AbortSignal, known?: Secret): Promise<AddressAnswer> {
  return proveAddress(`${url}/hooks/${secret.reveal()}`, secret, { signal, known });
}

function problem(detail: string, mend: string): Finding {
  return { check, verdict: "problem", detail, mend };
}

function refuseAnswer(answer: Exclude<AddressAnswer, { kind: "proven" }>): Finding {
  if (answer.kind === "none") {
    const code = answer.code === undefined ? "" : ` (${nameNetworkCode(answer.code)})`;
    return problem(`nothing answers there from this machine${code}`, mendOf("unreachable"));
  }
  const { status, location, code } = answer;
  if (status === 404 && code === "not_found")
    return problem("a relay answers there, but does not know this secret", mendOf("other_secret"));
  if (status >= 300 && status < 400) {
    const target = location !== undefined && URL.canParse(location) ? ` to ${new URL(location).origin}` : "";
    return problem(
      `it is redirected (${status}${target}), and senders of webhooks do not follow`,
      "set PUBLIC_URL to where it leads, or let the proxy not redirect /hooks/",
    );
  }
  if (status === 401 || status === 403 || status === 407) {
    return problem(
      `something in front of the relay lets nobody through (${status})`,
      "let /hooks/ pass without a login; its secret is in the path",
    );
  }
  if (status >= 502 && status <= 504) {
    return problem(`the proxy there does not reach the relay (${status})`, mendOf("unreachable"));
  }
  return problem(`something else answers there with ${status}`, mendOf("something_else"));
}

type Fault = "unreachable" | "other_secret" | "something_else" | "changed_body" | "limited_body";

function mendOf(why: Fault): string {
  switch (why) {
    case "unreachable":
      return "start the relay (tocsin serve); check DNS, the proxy and the firewall in front of it";
    case "other_secret":
      return "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL of the relay behind that address, and restart that relay if it is older than this command";
    case "something_else":
      return "let the proxy pass /hooks/ to the relay unchanged";
    case "changed_body":
      return "let the proxy pass the bodies of /hooks/ as they come: not stored, compressed or rewritten";
    case "limited_body":
      return "let the proxy pass bodies of 1 MiB to /hooks/ (nginx: client_max_body_size 1m)";
    default:
      return why satisfies never;
  }
}

/** Once the relay has proven itself it is shown the secret: another method than POST is refused there, and no more. */
async function checkOwnPath(hook: OwnHook, { signal }: Look, relays: Set<string>): Promise<Finding> {
  const proof = await askRelay(hook, signal);
  if (proof.kind !== "proven") return refuseAnswer(proof);
  relays.add(proof.relay);
  const { url, secret } = hook;
  const answer = await askOnce(`${url}/hooks/${secret.reveal()}`, signal);
  if (answer.kind === "answer" && answer.status === 405) {
    return { check, verdict: "ok", detail: `${url}/hooks/*** is this relay's hook` };
  }
  const said = answer.kind === "answer" ? `is answered with ${answer.status}` : "is not answered";
  const detail = `this relay is behind ${url}, but its hook's own path ${said}`;
  return problem(detail, mendOf("something_else"));
}

/** By POST, as alerts come: something in front may refuse, limit or change just that. */
async function checkBody({ url, secret }: OwnHook, look: Look, relays: Set<string>): Promise<Finding> {
  const { maxBodyBytes, signal } = look;
  const body = writeProbe(maxBodyBytes);
  const size = countBytes(body.length);
  const answer = await proveAddress(`${url}/hooks/${secret.reveal()}`, secret, { signal, body });
  const spoiling = describeSpoiling(body, answer);
  if (answer.kind === "proven") {
    relays.add(answer.relay);
    if (spoiling !== undefined) return problem(`an alert ${spoiling}`, mendOf("changed_body"));
    const detail = `an alert of ${size} arrives whole`;
    if (maxBodyBytes >= probeBytes) return { check, verdict: "ok", detail };
    const mend = `raise intake.maxBodyBytes: some services send ${countBytes(probeBytes)}`;
    return { check, verdict: "warning", detail: `${detail}, and the relay refuses larger ones`, mend };
  }
  if (answer.kind === "none") {
    const code = answer.code === undefined ? "" : ` (${nameNetworkCode(answer.code)})`;
    return problem(`an alert of ${size} gets no answer there${code}`, mendOf("something_else"));
  }
  const { status, code } = answer;
  if (spoiling !== undefined) {
    const mend = code === "too_large" ? "raise intake.maxBodyBytes of the relay" : mendOf("limited_body");
    return problem(`an alert ${spoiling}`, mend);
  }
  if (status === 404 && code === "not_found") {
    const detail = "the relay there is older than this command, so it cannot say whether alerts arrive whole";
    return problem(detail, "restart it with this version");
  }
  const { detail, mend } = refuseAnswer(answer);
  return problem(`an alert, sent by POST: ${detail}`, mend ?? mendOf("something_else"));
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
