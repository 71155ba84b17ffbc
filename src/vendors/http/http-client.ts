import type { Now } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import type { Message } from "../../core/message.ts";
import type { CallBounds, ChannelCalls, SendContext } from "../../core/ports/channel.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { createRedactor } from "../../ground/text/redact.ts";
import { createAddressPolicy } from "./address-policy.ts";
import { type Classify, outcomeOfAnswerFault, outcomeOfConnectFault } from "./classify.ts";
import type { OutgoingRequest } from "./exchange.ts";
import { decodePart, rewordOutcome, secretsOfUrl } from "./redact.ts";
import { createTransport, type TransportOptions } from "./transport.ts";

export interface HttpChannelOptions
  extends Partial<Pick<TransportOptions, "connectTimeoutMs" | "answerTimeoutMs" | "resolve">> {
  now: Now;
}

export interface HttpClientOptions extends HttpChannelOptions {
  allowInternal: readonly string[];
  /** Texts that must appear in no outcome, even when the other side repeats them. */
  secrets: readonly string[];
}

const maxDetailLength = 300;

/** @throws AppError `config_invalid` for an unreadable entry of `allowInternal`. */
export function createHttpClient(options: HttpClientOptions) {
  // Both time limits together end before the engine's own limit.
  const { connectTimeoutMs = 10_000, answerTimeoutMs = 15_000, now, resolve } = options;
  const policy = createAddressPolicy(options.allowInternal);
  const redact = createRedactor(options.secrets);
  const transport = createTransport({ policy, connectTimeoutMs, answerTimeoutMs, resolve });

  async function call(request: OutgoingRequest, classify: Classify, bounds: CallBounds): Promise<Outcome> {
    const { host } = request.url;
    const headers = { "user-agent": "Tocsin", ...request.headers };
    const exchange = await transport.exchange({ ...request, headers }, bounds);
    if ("unsent" in exchange) return outcomeOfConnectFault(exchange.unsent, host);
    if ("fault" in exchange) return outcomeOfAnswerFault(exchange.fault, host);
    return classify(exchange.answer, { host, nowMs: now(), redact });
  }

  const clean = (outcome: Outcome) => rewordOutcome(outcome, (words) => oneLine(redact(words), maxDetailLength));

  return {
    /** One request, one outcome. Never throws for faults of the network or the other side. */
    call: async (request: OutgoingRequest, classify: Classify, bounds: CallBounds) =>
      clean(await call(request, classify, bounds)),
    /** Like `call`, for a question without effect. A repeat is harmless, so nothing is ambiguous. */
    async ask(request: OutgoingRequest, classify: Classify, signal: AbortSignal): Promise<Outcome> {
      const outcome = clean(await call(request, classify, { signal }));
      if (outcome.kind !== "ambiguous") return outcome;
      return { kind: "retry", reason: outcome.reason, detail: outcome.detail, waitMs: outcome.waitMs };
    },
    /** Whether a permitted address of the host accepts connections (TCP and TLS). Sends nothing. */
    async probeConnection(url: URL, signal: AbortSignal): Promise<Outcome> {
      const fault = await transport.tryConnection(url, signal);
      if (fault !== undefined) return clean(outcomeOfConnectFault(fault, url.host));
      return { kind: "sent", note: `${url.host} takes connections; nothing was sent` };
    },
    /** Ends calls under way. They resolve with their known state. */
    close: async () => transport.close(),
  };
}

/** `headers` add to `content-type: application/json`, or replace it. */
type Write<M> = (message: M, context: SendContext) => { headers?: Record<string, string>; body: string };

/**
 * A vendor that takes each message in one POST. A probe only connects: any question would be a message.
 * @param vendor.secrets besides those of the address
 * @throws AppError `config_invalid` for an unreadable entry of `allowInternal`.
 */
export function createPostChannel<M extends Message>(
  url: URL,
  { allowInternal }: { allowInternal: readonly string[] },
  options: HttpChannelOptions,
  { classify, write, secrets = [] }: { classify: Classify; write: Write<M>; secrets?: string[] },
): ChannelCalls<M> {
  const http = createHttpClient({ ...options, allowInternal, secrets: [...secretsOfUrl(url), ...secrets] });
  return {
    send: async (message, context) => {
      const { headers, body } = write(message, context);
      const withType = { "content-type": "application/json", ...headers };
      return http.call({ url, method: "POST", headers: withType, body }, classify, context);
    },
    probe: (_recipient, signal) => http.probeConnection(url, signal),
    close: () => http.close(),
  };
}

/** @throws AppError `config_invalid`, without the address: it may be a secret. */
export function parseDestinationUrl(text: string, destination: { name: string; definedAt: string }): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.protocol === "https:" || url.protocol === "http:")) return url;
  throw new AppError(
    "config_invalid",
    `${destination.definedAt}: destination "${destination.name}" has no readable http or https address`,
    { hint: "Write the whole address, beginning with https://." },
  );
}

/** User and password of an address as the header that a browser would send. */
export function basicAuthOf(url: URL): Record<string, string> {
  if (url.username === "" && url.password === "") return {};
  const pair = `${decodePart(url.username)}:${decodePart(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair, "utf8").toString("base64")}` };
}

/** Adds `path` below a server's address, which may have a path itself. */
export function urlBelow(server: URL, path: string): URL {
  const below = new URL(server.href);
  below.pathname = `${server.pathname.replace(/(?<!\/)\/+$/, "")}/${path}`;
  below.search = "";
  below.hash = "";
  return below;
}
