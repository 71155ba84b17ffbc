import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { connect, type PeerCertificate } from "node:tls";
import type { Secret } from "../../core/secret.ts";
import { isLoopback } from "../../ground/net/local-host.ts";
import { isTlsCode, networkCodeOf } from "../../ground/net/network-code.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { askForProof, readProof } from "../../intake/door/hook-proof.ts";
import { readBoundedText } from "../../upstream/bounded-body.ts";
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
  signal: AbortSignal;
}

const check = "public URL";
/** For each stage. */
const limitMs = 5_000;
const soonMs = 14 * 86_400_000;

/**
 * Looks at a relay's hook as somebody outside does, stage by stage: the name, TLS, whether this relay is behind the hook's
 * path, and whether another secret is refused there. Ends after the first problem. Nothing is stored there, and before
 * the relay has proven itself the secret is not sent to whoever answers. Never throws but for an interruption.
 *
 * @returns the id of the relay that has proven itself, if there was no problem.
 */
export async function* checkPublicUrl(hook: OwnHook, look: Look): AsyncGenerator<Finding, string | undefined> {
  const url = new URL(hook.url);
  const stages = [() => checkName(url, hook.serviceUrl, look), () => checkTls(url, look)];
  for (const stage of stages) {
    const finding = await stage();
    yield finding;
    if (finding.verdict === "problem") return undefined;
  }
  const answer = await askRelay(hook, look.signal);
  const path = answer.kind === "proven" ? await checkOwnPath(hook, look) : refuseAnswer(answer);
  yield path;
  if (path.verdict === "problem" || answer.kind !== "proven") return undefined;
  const stranger = await checkStranger(hook, look);
  yield stranger;
  return stranger.verdict === "problem" ? undefined : answer.relay;
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
      detail: `the name ${host} ${detail} (${code ?? "no answer in time"})`,
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
  const says = (what: string, mend: string) => ({ detail: `${what} (${code})`, mend });
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

/** What answers where a relay with this secret should be. */
export type RelayAnswer =
  | { kind: "proven"; relay: string }
  | { kind: "other"; status: number; location?: string; isTocsin: boolean }
  | { kind: "none"; code?: string };

/**
 * Asks for a proof that a relay which knows the secret is there, without sending it. Waits at most five seconds; never
 * throws but for an interruption.
 */
export async function askRelay({ url, secret }: OwnHook, signal: AbortSignal): Promise<RelayAnswer> {
  const nonce = randomBytes(32).toString("base64url");
  const answer = await ask(`${url}/hooks/${askForProof(secret, nonce)}`, {}, signal);
  if (answer.kind === "none") return answer;
  const { status, body, location } = answer;
  const relay = status === 200 ? readProof(secret, nonce, body) : undefined;
  if (relay !== undefined) return { kind: "proven", relay };
  return { kind: "other", status, location, isTocsin: isUnknownHook(answer) };
}

type Answer = { kind: "answer"; status: number; body: string; location?: string } | { kind: "none"; code?: string };

async function ask(url: string, init: RequestInit, signal: AbortSignal): Promise<Answer> {
  try {
    return await withTimeLimit(limitMs, signal, async (limit) => {
      const response = await fetch(url, { ...init, redirect: "manual", signal: limit.signal });
      const location = response.headers.get("location") ?? undefined;
      const body = (await readBoundedText(response, 16 * 1024)) ?? "";
      return { kind: "answer", status: response.status, body, location };
    });
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "none", code: networkCodeOf(error) };
  }
}

/** As every relay answers for a secret that it does not know. */
function isUnknownHook({ status, body }: { status: number; body: string }): boolean {
  return status === 404 && body.startsWith('{"error":{"code":"not_found"');
}

function refuseAnswer(answer: Exclude<RelayAnswer, { kind: "proven" }>): Finding {
  const problem = (detail: string, mend: string): Finding => ({ check, verdict: "problem", detail, mend });
  if (answer.kind === "none") {
    const code = answer.code === undefined ? "" : ` (${answer.code})`;
    return problem(`nothing answers there from this machine${code}`, mendOf("unreachable"));
  }
  const { status, location, isTocsin } = answer;
  if (isTocsin) return problem("a relay answers there, but does not know this secret", mendOf("other_secret"));
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

function mendOf(why: "unreachable" | "other_secret" | "something_else"): string {
  switch (why) {
    case "unreachable":
      return "start the relay (tocsin serve); check DNS, the proxy and the firewall in front of it";
    case "other_secret":
      return "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL of the relay behind that address, and restart that relay if it is older than this command";
    case "something_else":
      return "let the proxy pass /hooks/ to the relay unchanged";
    default:
      return why satisfies never;
  }
}

/** The relay has proven itself, so it may be shown the secret: another method than POST is refused there, and no more. */
async function checkOwnPath({ url, secret }: OwnHook, { signal }: Look): Promise<Finding> {
  const answer = await ask(`${url}/hooks/${secret.reveal()}`, {}, signal);
  if (answer.kind === "answer" && answer.status === 405) {
    return { check, verdict: "ok", detail: `${url}/hooks/*** is this relay's hook` };
  }
  const said = answer.kind === "answer" ? `is answered with ${answer.status}` : "is not answered";
  return {
    check,
    verdict: "problem",
    detail: `this relay is behind ${url}, but its hook's own path ${said}`,
    mend: mendOf("something_else"),
  };
}

/** With POST, as senders do: something in front may refuse just that. Whatever takes it would take anything. */
async function checkStranger({ url }: OwnHook, { signal }: Look): Promise<Finding> {
  const path = `/hooks/${randomBytes(32).toString("base64url")}`;
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const answer = await ask(`${url}${path}`, init, signal);
  if (answer.kind === "answer" && isUnknownHook(answer))
    return { check, verdict: "ok", detail: "a wrong secret is refused there" };
  const said = answer.kind === "answer" ? `is answered with ${answer.status}` : "is not answered";
  return {
    check,
    verdict: "problem",
    detail: `a POST with a wrong secret ${said}, where this relay would say 404`,
    mend: mendOf("something_else"),
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
