import type { ChannelType, DeliveryState, ReasonCode } from "../core/delivery.ts";
import type { DestinationHealth } from "../core/destination-status.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { sentence } from "../ground/text/plain-text.ts";
import { vendorOf } from "./index.ts";

/**
 * `proven`: a message got through, or a probe has shown that messages or the login are accepted. `untried`: nothing was
 * ever tried. `failing`: the last try failed.
 */
export const destinationVerdicts = ["proven", "untried", "failing"] as const;
export type DestinationVerdict = (typeof destinationVerdicts)[number];

interface Seen {
  channel: ChannelType;
  health: DestinationHealth;
  lastSentAt?: number;
  lastProvenAt?: number;
  counts: Partial<Record<DeliveryState, number>>;
}

/** Whether no message got through since the trouble began. */
export function takesNothing(destination: { health: DestinationHealth; since?: number; lastSentAt?: number }): boolean {
  const { health, since, lastSentAt = Number.NEGATIVE_INFINITY } = destination;
  return health === "degraded" && since !== undefined && lastSentAt < since;
}

/** `provenAt`: the last success of a message, or of a probe that proves more than a connection. Absent: none known. */
export function judged<T extends Seen>(destination: T) {
  const { channel, health, counts, lastSentAt, lastProvenAt } = destination;
  const { probeProves } = vendorOf(channel);
  const proofs = [lastSentAt, probeProves === "connection" ? undefined : lastProvenAt].filter((at) => at !== undefined);
  const provenAt = proofs.length === 0 ? undefined : Math.max(...proofs);
  const { sent = 0, digested = 0, failed = 0, expired = 0 } = counts;
  // Old records have no time of the last success, but counts.
  const isProven = provenAt !== undefined || sent + digested > 0;
  // A destination that refuses every message still answers, so its health may be ok.
  const isRefused = !isProven && failed + expired > 0;
  const verdict: DestinationVerdict = health !== "ok" || isRefused ? "failing" : isProven ? "proven" : "untried";
  return { ...destination, verdict, provenAt, probeProves };
}

export interface Configured {
  channel: ChannelType;
  /** The place in the file, or the variable. */
  definedAt: string;
}

/** Advice for a reason: one clause, "check …", without its full stop. */
export function repairOf(reason: ReasonCode | undefined, { channel, definedAt }: Configured): string {
  const own = reason && (vendorOf(channel).words.repairs?.[reason] ?? repairsAt(definedAt)[reason]);
  return own ?? `fix it there, or change the destination in ${definedAt}`;
}

function repairsAt(place: string): Partial<Record<ReasonCode, string>> {
  const ofNetwork = `check the network and DNS of this machine, and the address (${place})`;
  const ofAddress = `correct the address (${place})`;
  const ofOtherSide = "see the other side's status page, as the fault is there";
  return {
    connect_failed: ofNetwork,
    dns_failed: ofNetwork,
    timeout_before_send: ofNetwork,
    tls_failed: `check the certificate of the other side, and the address (${place})`,
    auth_failed: `check user, password or token (${place})`,
    chat_not_found: `check the chat's id (${place}), and add the bot to the chat`,
    kicked: "add the bot back and let it post",
    no_rights: `let Tocsin send there (${place})`,
    address_moved: `write the new address into ${place}`,
    no_starttls: "use smtps://, a server that offers STARTTLS, or allowInsecureAuth=true on a network you trust",
    address_invalid: ofAddress,
    recipient_refused: ofAddress,
    forbidden_address: `name its host under allowInternal (${place}) if it is meant to lead into an internal network`,
    gone: `make a new address, as this one is no longer in use, and write it into ${place}`,
    rate_limited: "wait; the relay keeps the pace by itself",
    topic_gone: `open the topic again, or remove it from ${place}`,
    server_error: ofOtherSide,
    bad_answer: ofOtherSide,
    temporary_refusal: ofOtherSide,
    no_answer: ofOtherSide,
    connection_lost: ofOtherSide,
  };
}

/**
 * Says in sentences what happens to a destination's alerts, and what to do. Empty for a healthy one.
 * @param from.where the place of the button Try now, for a reader on another page
 * @param from.waiting how many alerts wait for the destination. Default 0
 * @param from.isTriedNext a dead or paused destination can be reached again, and its next message is the try
 */
export function adviseOn(
  destination: Configured & {
    health: DestinationHealth;
    reasonCode?: ReasonCode;
    since?: number;
    lastSentAt?: number;
  },
  { where = "", waiting = 0, isTriedNext = false }: { where?: string; waiting?: number; isTriedNext?: boolean } = {},
): string {
  const repair = repairOf(destination.reasonCode, destination);
  const firstly = sentence(repair);
  const tryNow = `press Try now${where}`;
  switch (destination.health) {
    case "ok":
      return "";
    case "degraded":
      if (takesNothing(destination))
        return `It has taken no message since. Alerts are retried without being asked. If it lasts, ${repair}.`;
      return (
        "Some messages fail at first. Alerts arrive, or are retried without being asked; " +
        "if it lasts, fix what the reason says."
      );
    case "down":
      return (
        `Nothing is lost: ${countOf(waiting).toLowerCase()} wait and follow as one message when it answers. ` +
        `Tocsin keeps trying. If it lasts, ${repair}.`
      );
    case "dead":
      if (isTriedNext) return `${firstly}. Then send a test, and resend what failed meanwhile. ${reachedAgain}`;
      return (
        `${firstly}. Tocsin asks it again every 15 min at the latest; to ask at once, ${tryNow}. ` +
        `${countOf(waiting)} wait up to an hour and follow as one message; what is older fails and can be resent.`
      );
    case "paused":
      if (isTriedNext) return `${firstly}, and restart Tocsin. ${reachedAgain}`;
      return (
        `${firstly}, and restart Tocsin; if it was put right elsewhere, ${tryNow}. ` +
        "Alerts wait meanwhile, until their retry schedule gives them up."
      );
    default:
      return destination.health satisfies never;
  }
}

const reachedAgain = "It can be reached; whether it takes messages, the next one will show.";

function countOf(waiting: number): string {
  return waiting < 2 ? "Alerts" : `${groupThousands(waiting)} alerts`;
}
