import { AppError } from "../core/errors.ts";
import { nameNetworkFailure } from "../ground/net/network-code.ts";

/**
 * No answer came. `sent: "no"` is certain: nothing of the request left this machine, so it may be repeated whatever it
 * does. `maybe`: it may have been carried out.
 */
export class UpstreamUnreachable extends AppError {
  readonly sent: "no" | "maybe";

  constructor(message: string, options: { sent: "no" | "maybe"; hint?: string }) {
    super("upstream_unreachable", message, { hint: options.hint });
    this.name = "UpstreamUnreachable";
    this.sent = options.sent;
  }
}

/** What a rejected `fetch` means. The error itself is dropped: what it says may hold headers. */
export function describeNetworkFailure(error: unknown, where: string): UpstreamUnreachable {
  const { words, ...failure } = nameNetworkFailure(error);
  return new UpstreamUnreachable(`${where}: ${words}`, failure);
}
