import { hash } from "node:crypto";
import { dayNames } from "../ground/time/zoned-time.ts";
import type { Severity } from "./alert.ts";
import type { ChannelType } from "./delivery.ts";
import type { GroupRule, HeldWith } from "./group.ts";
import type { Damped, RingRule } from "./ring.ts";

/** Limits of one pace key (a chat, or an account). Each applies by itself. */
export interface Pace {
  perSecond?: number;
  perMinute?: number;
}

/** Times of day on the wall clock of a zone. */
export interface Hours {
  /** `HH:MM`, 24-hour. */
  from: string;
  /** `HH:MM`. Earlier than `from`: on the next day. Equal to `from`: a whole day. */
  to: string;
  /** The days on which the window begins. 0 is Sunday. Default: every day. */
  days?: number[];
}

/** `22:00 to 07:00 Europe/Zurich on Mon, Fri`. */
export function describeHours({ from, to, days }: Hours, timeZone: string): string {
  const on = days === undefined ? "" : ` on ${days.map((day) => dayNames[day]).join(", ")}`;
  return `${from} to ${to} ${timeZone}${on}`;
}

/**
 * Times of day in the destination's zone during which deliveries wait, e.g. 22:00 to 07:00. They are sent as a digest
 * afterwards.
 */
export interface QuietHours extends Hours {
  /** Severities that are not held. Default `["critical"]`. */
  except: string[];
}

/** The options of every destination. Its vendor adds its own, which only the vendor reads. */
export interface Destination {
  /** The vendor's type. */
  type: ChannelType;
  /** Unique. The name in routes, on the page and in the API. */
  name: string;
  timeZone: string;
  /** What to do when a message may have arrived: repeat it, marked, or hold it for a person. Default `retry`. */
  onAmbiguous: "retry" | "hold";
  /** More than this many waiting deliveries go out as one digest. Default 10. */
  digestOver: number;
  /** How much of an alert the messages show. Default `normal`. */
  detail?: MessageDetail;
  /** Whether messages get a picture of the value. Default: where the vendor can show one. */
  chart?: boolean;
  /** A destination that is idle for this long is probed. A probe sends nothing to people. Absent: never. Milliseconds. */
  proveEveryMs?: number;
  pace: Pace;
  quietHours?: QuietHours;
  /** Whether the relay's own notices come here. Where no destination is set to true, they go to all that work. */
  notices?: boolean;
  /** Where the destination is configured, for its owner: `tocsin.yaml:12` or `TELEGRAM_CHAT_IDS`. */
  definedAt: string;
}

/** Conditions for one field, which must all hold. A list of values means any of them. */
export interface Condition {
  equals?: string[];
  not?: string[];
  lt?: number;
  lte?: number;
  gt?: number;
  gte?: number;
  exists?: boolean;
  /** A regular expression in RE2 syntax, which runs in linear time. */
  matches?: string;
  /** A regular expression that no value may match. True for a missing value. */
  notMatches?: string;
  /** The whole text fits one of these. `*` means any characters, also none. */
  glob?: string[];
}

/**
 * `field` is a fact (`title severity status metric token chain value previousValue threshold unit link externalId source
 * alertKey text origin format`), a computed fact (`changePercent distancePercent`), or `payload` followed by a path:
 * `payload.pool.address`, `payload.labels["a.b"]`, `payload.items[0].id`, `payload.items[*].id` (any element).
 */
export interface FieldMatcher {
  field: string;
  condition: Condition;
}

/** One condition. `any`: at least one of the lists must hold. `not`: the list must not hold. A list holds when all of it does. */
export type Matcher = FieldMatcher | { any: Matcher[][] } | { not: Matcher[] };

/** Every condition on a field, at any depth. */
export function fieldMatchers(matchers: readonly Matcher[]): FieldMatcher[] {
  return matchers.flatMap((matcher) => {
    if ("field" in matcher) return [matcher];
    return fieldMatchers("any" in matcher ? matcher.any.flat() : matcher.not);
  });
}

/**
 * How a later event of the same alert key is sent. `auto` (default): a resolution edits and answers, a quick repeat edits, a
 * later repeat answers.
 */
export type UpdatePolicy = "auto" | "edit" | "reply" | "new";

/**
 * `later_end`: an earlier message already shows the end, so this one may change it, and is no new one. `count`: the alert does
 * not ring, and only changes the last message of its key. `summary`: says at the end of the wait, without a sound, what did not
 * ring.
 */
export type DeliveryUpdates = UpdatePolicy | "later_end" | "count" | "summary";

export const isDamped = ({ updates }: { updates?: DeliveryUpdates }): boolean =>
  updates === "count" || updates === "summary";

export interface Route {
  name: string;
  /** All must hold. An empty list matches everything. */
  matchers: Matcher[];
  /** Empty: the route drops its alerts on purpose. */
  to: string[];
  /** Continue with later routes, and with the default route, as if this one had not matched. Default false. */
  continue: boolean;
  /** The route is tried last, and only when every other route that matched continues. */
  isDefault: boolean;
  /** The route takes no alerts. Default false. */
  isDisabled?: boolean;
  /** The route takes no alerts outside of these hours. Default: always. */
  activeHours?: Hours & { timeZone: string };
  /** Severities that make no sound at the route's destinations, where the channel can be silent. Default: none. */
  silent?: Severity[];
  /** The first line of its messages, with facts in braces, see `fillTitle`. Default: the built-in one. */
  title?: string;
  /** A text that each of its messages shows. */
  note?: string;
  /** `url` with facts in braces, see `fillLink`. */
  links?: { label: string; url: string }[];
  updates: UpdatePolicy;
  /** The fallback is used after `afterMs` without success, even if no delivery has failed. */
  fallback?: { to: string; afterMs: number };
  /** An alert that is older than this when it is sent goes into a digest and does not ring by itself. Milliseconds. */
  freshnessMs?: number;
  /** The route's options for ringing again. Absent: the defaults apply where people read. */
  ringing?: Partial<Omit<RingRule, "editsForMs">>;
  /** Alerts with the same values of these facts go out together. Default: each alone. */
  group?: GroupOptions;
  /** People get a notice after this long without an alert for the route. Default: never. */
  silence?: SilenceRule["after"];
  definedAt: string;
}

/** See `GroupRule`. */
export interface GroupOptions extends Omit<NonNullable<GroupRule["group"]>, "name"> {
  /** Names of facts. */
  by: string[];
}

/**
 * While an alert that matches `while` fires, alerts that match `hold` and have the same facts wait at the destinations that got
 * it.
 */
export interface Inhibition {
  /** Unique. */
  name: string;
  while: Matcher[];
  hold: Matcher[];
  /** Names of facts. */
  equal: string[];
  /** Milliseconds. */
  atMostMs: number;
}

/**
 * How much of an alert its message shows. `short`: the first line and the numbers. `normal` (default): also what a reader needs
 * to act, in one message. The page has the rest. `full`: all that was read from the body, in several messages if needed.
 */
export const messageDetails = ["short", "normal", "full"] as const;
export type MessageDetail = (typeof messageDetails)[number];

/** Matching alerts are recorded and not sent, until `endsAt`. */
export interface Mute {
  id: string;
  /** An empty list mutes everything. */
  matchers: Matcher[];
  reason: string;
  /** The mute has no effect. Only mutes of the configuration can be disabled. Default false. */
  isDisabled?: boolean;
  /** Epoch milliseconds. */
  startsAt: number;
  endsAt: number;
  /**
   * An alert key. The mute ends when the key is over, and lets that end through, at the latest at `endsAt`. Absent: it ends at
   * `endsAt`.
   */
  untilOver?: string;
  createdAt: number;
  /** `configuration`, `page`, `api` or `command`. `an earlier configuration`: the file no longer has the mute. */
  createdBy: string;
}

/** Whether its time has come and is not over. */
export const isActive = ({ startsAt, endsAt }: Pick<Mute, "startsAt" | "endsAt">, now: number): boolean =>
  startsAt <= now && now < endsAt;

/**
 * The name of a mute that deliveries keep. The id of a mute of the configuration is its place in the file, which another mute
 * may have after the next change.
 */
export function keptNameOf({ id, matchers, startsAt, endsAt, createdBy }: Mute): string {
  if (isMadeAtRuntime({ createdBy })) return id;
  return `configuration:${hash("sha256", JSON.stringify([matchers, startsAt, endsAt])).slice(0, 16)}`;
}

/** Other mutes come with the present configuration. */
export function isMadeAtRuntime({ createdBy }: Pick<Mute, "createdBy">): boolean {
  return createdBy !== "configuration";
}

/** When a notice says that no alert comes: for the whole hook, for one route, or for one fact `source`. */
export interface SilenceRule {
  of: "hook" | "route" | "source";
  /** The name of the route or the source. */
  name?: string;
  /** Milliseconds. `auto`: when the silence lasts longer than usual at these hours. */
  after: number | "auto";
}

export interface Rules {
  destinations: Destination[];
  routes: Route[];
  /** Mutes of the configuration. The store has those made at run time. */
  mutes: Mute[];
  /** Default: none. */
  inhibit?: Inhibition[];
  /** Names of destinations that canaries go to. Default: none. */
  canaryTo?: string[];
}

/**
 * `damped`: the alert does not ring there, and is counted. `contained`: another alert's message shows this one as well, of the
 * same request or over before.
 */
export const decisionResults = [
  "deliver",
  "damped",
  "standby",
  "muted",
  "held",
  "dropped",
  "contained",
  "skipped",
  "not_matched",
] as const;

/** One line of "what was decided and why" for one alert. Stored, and shown on the page and by `explain`. */
export interface Decision {
  route: string;
  /** Absent when the route did not match. */
  destination?: string;
  result: (typeof decisionResults)[number];
  /** For people: "severity is critical", "value 3 is not above 5", "muted until 12:00: maintenance". */
  reason: string;
  muteId?: string;
  /**
   * The name of several kept routes that did not take the alert, see `createKeptRoutes`. This decision is for each of them.
   */
  routes?: string;
}

/**
 * Whether no route was tried, since the message of another alert of the same request shows this one. An end that an earlier
 * message shows has a destination.
 */
export function isShownByOther(decisions: readonly Pick<Decision, "result" | "destination">[]): boolean {
  return decisions.some(({ result, destination }) => result === "contained" && destination === undefined);
}

/** The routes that matched an alert, whether or not it was sent. A route that did not match names no destination. */
export function routesThatTook(decisions: readonly Decision[]): string[] {
  const took = decisions.filter(({ destination, result }) => destination !== undefined || result === "dropped");
  return [...new Set(took.map(({ route }) => route))];
}

/** What a route adds to a message, as of the routing of the alert. */
export interface MessageExtras {
  /** No sound, where the channel can be silent. */
  silent?: true;
  note?: string;
  /** The first line, instead of the built-in one. The alert's facts are filled in, as in `links`. */
  title?: string;
  links?: { label: string; url: string }[];
  /** The alerts that this one holds back as their cause. */
  with?: HeldWith;
  /** Why an alert is late that a mute has held back and a person has released: "muted until 14:00 CET". */
  late?: string;
}

/** A delivery that routing asks for. The store assigns ids. */
export interface PlannedDelivery {
  destination: string;
  channel: ChannelType;
  /** Chat id, mailbox, or for webhooks the destination's name. Never a secret. */
  recipient: string;
  route: string;
  state: "queued" | "muted" | "held";
  reason: string;
  /** When to send the delivery: now, or when its hold ends. Epoch milliseconds. */
  dueAt: number;
  updates: DeliveryUpdates;
  /** What the message says about the alerts of its key that did not ring. */
  damped?: Damped;
  freshnessMs?: number;
  extras?: MessageExtras;
  fallback?: { to: string; at: number };
  /** For a fallback: the reason, in words that follow "because". */
  insteadBecause?: string;
  /** For `muted`: the mute that holds the delivery, see `keptNameOf`. */
  mutedBy?: string;
  /** The rule by which the delivery may be held back. Absent: it is not judged, and has no effect on later rings. */
  ring?: RingRule;
  /** What the delivery may wait for. Absent: nothing. */
  group?: GroupRule;
  /** The name of the group whose deliveries go out in one message. */
  groupName?: string;
}

/** As a notice's fallback: destinations that can take the notice are chosen when the fallback is due. */
export const anyDestination = "*";

/** One delivery for each recipient, since each is accepted or refused by itself. */
export function planDeliveries(
  { name, type }: Destination,
  recipients: string[],
  plan: Omit<PlannedDelivery, "destination" | "channel" | "recipient">,
): PlannedDelivery[] {
  return recipients.map((recipient) => ({ destination: name, channel: type, recipient, ...plan }));
}
