import type { Outcome } from "../../core/delivery.ts";
import type { ChannelCalls } from "../../core/ports/channel.ts";
import { type AnswerContext, createClassify, describeAnswer, rejected } from "../http/classify.ts";
import type { Answer } from "../http/exchange.ts";
import {
  basicAuthOf,
  createHttpClient,
  type HttpChannelOptions,
  parseDestinationUrl,
  urlBelow,
} from "../http/http-client.ts";
import { secretsOfHeader, secretsOfUrl } from "../http/redact.ts";
import type { AppriseMessage } from "./render.ts";
import type { AppriseDestination } from "./vendor.ts";

/** An Apprise API server: `/notify/KEY` for a stored configuration, `/notify` with the addresses in the body. */
export function createAppriseChannel(
  destination: AppriseDestination,
  options: HttpChannelOptions,
): ChannelCalls<AppriseMessage> {
  const server = parseDestinationUrl(destination.server, destination);
  const auth = basicAuthOf(server);
  const path = destination.key === undefined ? "notify/" : `notify/${encodeURIComponent(destination.key)}`;
  const http = createHttpClient({
    ...options,
    allowInternal: destination.allowInternal,
    secrets: [
      ...secretsOfUrl(server),
      ...(destination.key === undefined ? [] : [destination.key]),
      ...destination.urls.flatMap((url) => secretsOfAppriseUrl(url.reveal())),
      ...Object.values(auth).flatMap(secretsOfHeader),
    ],
  });

  return {
    send: async (message, context) => {
      const body = notifyBody(message, destination);
      const headers = { ...auth, "content-type": "application/json", accept: "application/json" };
      return http.call({ url: urlBelow(server, path), method: "POST", headers, body }, classifyApprise, context);
    },
    probe: (_recipient, signal) =>
      http.ask({ url: urlBelow(server, "status"), method: "GET", headers: auth }, classifyAppriseStatus, signal),
    close: () => http.close(),
  };
}

/**
 * Source: the Apprise API's documentation and its answers. A 204 sent nothing: the server found no usable address.
 * After a 424 some services failed and others may have the message, so it is ambiguous.
 */
export function classifyApprise(answer: Answer, context: AnswerContext): Outcome {
  if (answer.status !== 204) return classifyOther(answer, context);
  const detail = `${describeAnswer(answer, context)}: no configuration under this key, or no usable address; nobody was notified`;
  return rejected("destination", "address_invalid", detail);
}

const classifyOther = createClassify({
  taken: (_answer, { error } = {}) =>
    error === null || error === "" || error === false ? { kind: "sent" } : "no error",
  refused({ status, detail }) {
    if (status === 424) return { kind: "ambiguous", reason: "server_error", detail };
    if (status !== 404 && status !== 405) return undefined;
    return rejected("destination", "address_invalid", `${detail}. Is this the address of an Apprise API server?`);
  },
});

/** `/status` answers 200, or 417 with the server's faults. Attachments and storage do not matter here. */
function classifyAppriseStatus(answer: Answer, context: AnswerContext): Outcome {
  if (answer.status === 200 && !/^\s*</.test(answer.body)) {
    return { kind: "sent", note: "the server is up; its services were not tried" };
  }
  if (answer.status === 417) return { kind: "sent", note: describeAnswer(answer, context) };
  const outcome = classifyApprise(answer, context);
  if (outcome.kind !== "sent") return outcome;
  return { kind: "retry", reason: "bad_answer", detail: describeAnswer(answer, context) };
}

function notifyBody(message: AppriseMessage, destination: AppriseDestination): string {
  return JSON.stringify({
    title: message.title,
    body: message.text,
    type: message.type,
    format: "text",
    ...(destination.key === undefined ? { urls: destination.urls.map((url) => url.reveal()).join(" ") } : {}),
    ...(destination.tag === undefined ? {} : { tag: destination.tag }),
  });
}

/** Apprise addresses have schemes of their own (`slack://a/b/c`), so each part between separators may be a secret. */
function secretsOfAppriseUrl(url: string): string[] {
  const rest = url.replace(/^[a-z0-9]+:\/\//i, "");
  return [url, rest, ...rest.split(/[/?&=@:]/).filter((part) => part.length >= 6)];
}
