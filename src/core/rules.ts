import { hash } from "node:crypto";
import { dayNames } from "../ground/time/zoned-time.ts";
import type { Severity } from "./alert.ts";
import type { ChannelType } from "./delivery.ts";
import type { GroupRule, HeldWith } from "./group.ts";
import type { Damped, RingRule } from "./ring.ts";

/** Limits for a chat or an account. Each limit applies by itself. */
export interface Pace {
  perSecond?: number;
  perMinute?: number;
}

/** On the wall clock of a zone. */
export interface Hours {
  /** `HH:MM`, 24-hour. */
  from: string;
  /** `HH:MM`. Earlier than `from`: on the next day. Equal: a whole day. */
  to: string;
  /** The days on which a window begins. 0 is Sunday. Default: every day. */
  days?: number[];
}

/** `22:00 to 07:00 Europe/Zurich on Mon, Fri`. */
export function describeHours({ from, to, days }: Hours, timeZone: string): string {
  const on = days === undefined ? "" : ` on ${days.map((day) => dayNames[day]).join(", ")}`;
  return `${from} to ${to} ${timeZone}${on}`;
}

/** Deliveries wait during these hours, in the destination's zone. Afterwards they go out as a digest. */
export interface QuietHours extends Hours {
  /** Severities that are not held. Default `["critical"]`. */
  except: string[];
}

/** The options that all destinations have. A vendor adds its own, which only that vendor reads. */
export interface Destination {
  type: ChannelType;
  /** Unique. */
  name: string;
  timeZone: string;
  /** When a message may have arrived: repeat it, marked, or hold it for a person. Default `retry`. */
  onAmbiguous: "retry" | "hold";
  /** More waiting deliveries than this go out as one digest. Default 10. */
  digestOver: number;
  /** Default `normal`. */
  detail?: MessageDetail;
  /** Whether messages get a picture of the value. Default: where the vendor can show one. */
  chart?: boolean;
  /** A destination that is idle for so long is probed, without a message to people. Absent: never. */
  proveEveryMs?: number;
  pace: Pace;
  quietHours?: QuietHours;
  /** Whether the relay's own notices come here. Where no destination says yes, they go to all that work. */
  notices?: boolean;
  /** The place in the configuration, for people: `tocsin.yaml:12` or `TELEGRAM_CHAT_IDS`. */
  definedAt: string;
}

/** Conditions for one field. All must hold. In a list of values one must fit. */
export interface Condition {
  equals?: string[];
  not?: string[];
  lt?: number;
  lte?: number;
  gt?: number;
  gte?: number;
  exists?: boolean;
  /** A regular expression in RE2 syntax, which takes linear time. */
  matches?: string;
  /** A regular expression that no value may match. It holds for a missing value. */
  notMatches?: string;
  /** One of these fits the whole text. `*` fits any characters, also none. */
  glob?: string[];
}

/**
 * `field` is a fact (`title severity status metric token chain value previousValue threshold unit link externalId
 * source alertKey text origin format`), a computed fact (`changePercent distancePercent`), or a path into `payload`:
 * `payload.pool.address`, `payload.labels["a.b"]`, `payload.items[0].id`, `payload.items[*].id` (any element).
 */
export interface FieldMatcher {
  field: string;
  condition: Condition;
}

/** `any`: one of the lists must hold. `not`: the list must not hold. A list holds when all of it does. */
export type Matcher = FieldMatcher | { any: Matcher[][] } | { not: Matcher[] };

/** Also those inside `any` and `not`. */
export function fieldMatchers(matchers: readonly Matcher[]): FieldMatcher[] {
  return matchers.flatMap((matcher) => {
    if ("field" in matcher) return [matcher];
    return fieldMatchers("any" in matcher ? matcher.any.flat() : matcher.not);
  });
}

/** `auto` (default): a resolving alert edits and answers, a quick repeat edits, a later repeat answers. */
export type UpdatePolicy = "auto" | "edit" | "reply" | "new";

/** `later_end`: changes the message that already shows an end. `count`, `summary`: for alerts that do not ring. */
export type DeliveryUpdates = UpdatePolicy | "later_end" | "count" | "summary";

export const isDamped = ({ updates }: { updates?: DeliveryUpdates }): boolean =>
  updates === "count" || updates === "summary";

export interface Route {
  name: string;
  /** All must hold. An empty list matches everything. */
  matchers: Matcher[];
  /** Empty: the route drops its alerts on purpose. */
  to: string[];
  /** Whether later routes are tried too, and the default route. Default false. */
  continue: boolean;
  /** Tried last, and only if every route that matched has `continue`. */
  isDefault: boolean;
  isDisabled?: boolean;
  /** The route takes alerts only in these hours. Default: always. */
  activeHours?: Hours & { timeZone: string };
  /** Alerts of these severities make no sound, where the channel can be silent. Default: none. */
  silent?: Severity[];
  /** The first line of messages, with facts in braces (`fillTitle`). Default: the built-in one. */
  title?: string;
  /** A text for each message. */
  note?: string;
  /** `url` has facts in braces (`fillLink`). */
  links?: { label: string; url: string }[];
  updates: UpdatePolicy;
  /** The fallback is used after `afterMs` without success, even if no delivery has failed yet. */
  fallback?: { to: string; afterMs: number };
  /** An alert that is older when it is sent goes into a digest, without a ring of its own. */
  freshnessMs?: number;
  /** Absent: the defaults, where people read. */
  ringing?: Partial<Omit<RingRule, "editsForMs">>;
  /** Alerts with the same values of these facts go out together. Default: each alone. */
  group?: GroupOptions;
  /** People get a notice after so long without an alert for the route. Default: never. */
  silence?: SilenceRule["after"];
  definedAt: string;
}

export interface GroupOptions extends Omit<NonNullable<GroupRule["group"]>, "name"> {
  /** Names of facts. */
  by: string[];
}

/** While an alert fires that matches `while`, alerts that match `hold` with the same facts wait. */
export interface Inhibition {
  /** Unique. */
  name: string;
  while: Matcher[];
  hold: Matcher[];
  /** Names of facts. */
  equal: string[];
  atMostMs: number;
}

/**
 * How much of an alert its message shows. `short`: first line and numbers. `normal` (default): also what a reader needs
 * to act, in one message. `full`: all that was read, in several messages if needed.
 */
export const messageDetails = ["short", "normal", "full"] as const;
export type MessageDetail = (typeof messageDetails)[number];

/** Matching alerts are recorded and not sent until `endsAt`. */
export interface Mute {
  id: string;
  /** An empty list mutes everything. */
  matchers: Matcher[];
  reason: string;
  /** Only for mutes of the configuration. Default false. */
  isDisabled?: boolean;
  startsAt: number;
  endsAt: number;
  /** An alert key: the mute also ends when the key is over, and does not hold the alert that says so. */
  untilOver?: string;
  createdAt: number;
  /** `configuration`, `page`, `api` or `command`. `an earlier configuration`: the file no longer has the mute. */
  createdBy: string;
}

export const isActive = ({ startsAt, endsAt }: Pick<Mute, "startsAt" | "endsAt">, now: number): boolean =>
  startsAt <= now && now < endsAt;

/** The name of a mute that deliveries keep. The id of a configured mute is only its place in the file. */
export function keptNameOf({ id, matchers, startsAt, endsAt, createdBy }: Mute): string {
  if (isMadeAtRuntime({ createdBy })) return id;
  return `configuration:${hash("sha256", JSON.stringify([matchers, startsAt, endsAt])).slice(0, 16)}`;
}

export function isMadeAtRuntime({ createdBy }: Pick<Mute, "createdBy">): boolean {
  return createdBy !== "configuration";
}

/** After how long without alerts people get a notice: for the whole hook, one route, or one `source`. */
export interface SilenceRule {
  of: "hook" | "route" | "source";
  /** The route's or the source's. */
  name?: string;
  /** Milliseconds. `auto`: longer than usual at these hours. */
  after: number | "auto";
}

export interface Rules {
  destinations: Destination[];
  routes: Route[];
  /** Only those of the configuration. The store has those made at run time. */
  mutes: Mute[];
  /** Default: none. */
  inhibit?: Inhibition[];
  /** Destinations of canaries. Default: none. */
  canaryTo?: string[];
}

/** `damped`: the alert does not ring there, and is counted. `contained`: the message of another alert shows this one too. */
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

/** What was decided for one alert, and why. Stored, and shown on the page and by `explain`. */
export interface Decision {
  route: string;
  /** Absent when the route did not match. */
  destination?: string;
  result: (typeof decisionResults)[number];
  /** For people: "severity is critical", "value 3 is not above 5", "muted until 12:00: maintenance". */
  reason: string;
  muteId?: string;
  /** The name of the stored routes of that time: this decision is about all that did not take the alert. See `createKeptRoutes`. */
  routes?: string;
}

/** Whether no route was tried, since another alert's message shows this one. A decision on a repeated end has a destination. */
export function isShownByOther(decisions: readonly Pick<Decision, "result" | "destination">[]): boolean {
  return decisions.some(({ result, destination }) => result === "contained" && destination === undefined);
}

/** The routes that matched an alert, sent or not. A decision without a destination is of a route that did not match. */
export function routesThatTook(decisions: readonly Decision[]): string[] {
  const took = decisions.filter(({ destination, result }) => destination !== undefined || result === "dropped");
  return [...new Set(took.map(({ route }) => route))];
}

/** What the route adds to a message, as it was when the alert was routed. */
export interface MessageExtras {
  silent?: true;
  note?: string;
  /** The first line, with the alert's facts filled in. */
  title?: string;
  links?: { label: string; url: string }[];
  /** The alerts that this one holds back as their cause. */
  with?: HeldWith;
  /** For an alert that a person released from a mute: "muted until 14:00 CET". */
  late?: string;
}

/** A delivery that routing asks for. */
export interface PlannedDelivery {
  destination: string;
  channel: ChannelType;
  /** Chat id, mailbox, or for webhooks the destination's name. Never a secret. */
  recipient: string;
  route: string;
  state: "queued" | "muted" | "held";
  reason: string;
  /** Now, or when its hold ends. Epoch milliseconds. */
  dueAt: number;
  updates: DeliveryUpdates;
  damped?: Damped;
  freshnessMs?: number;
  extras?: MessageExtras;
  fallback?: { to: string; at: number };
  /** For a fallback: words that follow "because". */
  insteadBecause?: string;
  /** For `muted`: the name of the mute (`keptNameOf`). */
  mutedBy?: string;
  /** The rule by which the delivery may be held back. Absent: the delivery is not judged, and later rings do not depend on it. */
  ring?: RingRule;
  /** What the delivery may wait for. Absent: nothing. */
  group?: GroupRule;
  /** Deliveries with the same name go out in one message. */
  groupName?: string;
}

/** The fallback of a notice: which destinations take it is decided when it is due. */
export const anyDestination = "*";

/** One for each recipient, since each can be refused by itself. */
export function planDeliveries(
  { name, type }: Destination,
  recipients: string[],
  plan: Omit<PlannedDelivery, "destination" | "channel" | "recipient">,
): PlannedDelivery[] {
  return recipients.map((recipient) => ({ destination: name, channel: type, recipient, ...plan }));
}
