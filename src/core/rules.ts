import { hash } from "node:crypto";
import { dayNames } from "../ground/time/zoned-time.ts";
import type { Severity } from "./alert.ts";
import type { ChannelType } from "./delivery.ts";
import type { GroupRule, HeldWith } from "./group.ts";
import type { Damped, RingRule } from "./ring.ts";

/** Limits of one pace key (a chat, or an account). Each bound holds on its own. */
export interface Pace {
  perSecond?: number;
  perMinute?: number;
}

/** Times of day on the wall clock of a zone. */
export interface Hours {
  /** `HH:MM`, 24-hour. */
  from: string;
  /** `HH:MM`; earlier than `from` means the next day, the same as `from` a whole day. */
  to: string;
  /** 0 is Sunday. Default: every day. The day is the one on which the window begins. */
  days?: number[];
}

/** `22:00 to 07:00 Europe/Zurich on Mon, Fri`. */
export function describeHours({ from, to, days }: Hours, timeZone: string): string {
  const on = days === undefined ? "" : ` on ${days.map((day) => dayNames[day]).join(", ")}`;
  return `${from} to ${to} ${timeZone}${on}`;
}

/**
 * Times of day in the destination's zone during which deliveries wait, e.g. 22:00 to 07:00; they are sent as a digest
 * afterwards.
 */
export interface QuietHours extends Hours {
  /** Severities that are delivered anyway. Default `["critical"]`. */
  except: string[];
}

/** What every destination has; its vendor adds its own part, which the vendor alone looks into. */
export interface Destination {
  /** The vendor's type. */
  type: ChannelType;
  /** Unique; the name in routes, on the page and in the API. */
  name: string;
  timeZone: string;
  /**
   * What to do when nobody can know whether a message arrived: repeat it, marked, or hold it for a person. Default
   * `retry`.
   */
  onAmbiguous: "retry" | "hold";
  /** More than this many waiting deliveries go out as one digest. Default 10. */
  digestOver: number;
  /** How much of an alert its messages hold. Default `normal`. */
  detail?: MessageDetail;
  /** A picture of the value joins its messages. Default: where the vendor can show one. */
  chart?: boolean;
  /** With nothing to do for this long it is probed, which sends nothing to people. Absent: never. Milliseconds. */
  proveEveryMs?: number;
  pace: Pace;
  quietHours?: QuietHours;
  /** Whether notices of the relay itself come here. Where no destination is set to true, they go to all that work. */
  notices?: boolean;
  /** Where it is defined, for messages to its owner: `tocsin.yaml:12` or `TELEGRAM_CHAT_IDS`. */
  definedAt: string;
}

/** What a field must be. Every given condition must hold. A list of values means any of them. */
export interface Condition {
  equals?: string[];
  not?: string[];
  lt?: number;
  lte?: number;
  gt?: number;
  gte?: number;
  exists?: boolean;
  /** A regular expression in RE2 syntax; it runs in linear time. */
  matches?: string;
  /** A regular expression that none of the values may hold; true for a missing value. */
  notMatches?: string;
  /** The whole text fits one of these: `*` stands for any characters, also for none. */
  glob?: string[];
}

/**
 * `field` is a fact (`title severity status metric token chain value previousValue threshold unit link externalId
 * source alertKey text origin format`), one that is computed (`changePercent distancePercent`), or `payload` followed by
 * a path: `payload.pool.address`, `payload.labels["a.b"]`, `payload.items[0].id`, `payload.items[*].id` (any element).
 */
export interface FieldMatcher {
  field: string;
  condition: Condition;
}

/** One condition. `any`: at least one of these lists must hold. `not`: this list must not hold. All of a list must hold. */
export type Matcher = FieldMatcher | { any: Matcher[][] } | { not: Matcher[] };

/** Every condition on a field, however deep it stands. */
export function fieldMatchers(matchers: readonly Matcher[]): FieldMatcher[] {
  return matchers.flatMap((matcher) => {
    if ("field" in matcher) return [matcher];
    return fieldMatchers("any" in matcher ? matcher.any.flat() : matcher.not);
  });
}

/**
 * How a later event of the same alert key is sent. `auto` (default): a resolution edits and answers, a quick repeat
 * edits, a later one answers.
 */
export type UpdatePolicy = "auto" | "edit" | "reply" | "new";

/**
 * `later_end`: people know already that it is over, so it may change the message that says so, and is no new one. `count`: it does not
 * ring, and only changes the last message of its key. `summary`: it says at the end of the wait, without a sound, what did not ring.
 */
export type DeliveryUpdates = UpdatePolicy | "later_end" | "count" | "summary";

export const isDamped = ({ updates }: { updates?: DeliveryUpdates }): boolean =>
  updates === "count" || updates === "summary";

export interface Route {
  name: string;
  /** All must hold; none: matches everything. */
  matchers: Matcher[];
  /** Empty: what this route takes is dropped on purpose. */
  to: string[];
  /** Go on with later routes, and with the default route, as if this one had not matched. Default false. */
  continue: boolean;
  /** The route is asked last, and only when every other route that matched continues. */
  isDefault: boolean;
  /** It takes nothing. Default false. */
  isDisabled?: boolean;
  /** It takes nothing outside of these. Default: always. */
  activeHours?: Hours & { timeZone: string };
  /** Alerts of these severities make no sound at its destinations, where the channel can be silent. Default: none. */
  silent?: Severity[];
  /** The first line of its messages, with facts in braces, see `fillTitle`. Default: the built-in one. */
  title?: string;
  /** A text that each of its messages shows. */
  note?: string;
  /** `url` with facts in braces, see `fillLink`. */
  links?: { label: string; url: string }[];
  updates: UpdatePolicy;
  /** `afterMs` without success it is used even though nothing has failed for good. */
  fallback?: { to: string; afterMs: number };
  /** Older than this when it is sent, an alert goes into a digest and rings for nobody by itself. Milliseconds. */
  freshnessMs?: number;
  /** What it says of ringing again. Absent: it says nothing, so the defaults hold where people read. */
  ringing?: Partial<Omit<RingRule, "editsForMs">>;
  /** Its alerts with the same facts go out together. Default: each alone. */
  group?: GroupOptions;
  /** After how long without an alert for it people get a notice. Default: never. */
  silence?: SilenceRule["after"];
  definedAt: string;
}

/** See `GroupRule`. */
export interface GroupOptions extends Omit<NonNullable<GroupRule["group"]>, "name"> {
  /** Facts. */
  by: string[];
}

/** While an alert that matches `while` fires, those that match `hold` and have the same facts wait at the destinations that got it. */
export interface Inhibition {
  /** Unique. */
  name: string;
  while: Matcher[];
  hold: Matcher[];
  /** Facts. */
  equal: string[];
  /** Milliseconds. */
  atMostMs: number;
}

/**
 * How much of an alert its message holds. `short`: the first line and the numbers. `normal` (default): besides, what a
 * reader acts by, in one message; the page has the rest. `full`: all that was read from the body, in several messages if need
 * be.
 */
export const messageDetails = ["short", "normal", "full"] as const;
export type MessageDetail = (typeof messageDetails)[number];

/** Alerts that match are recorded and not sent, until `endsAt`. */
export interface Mute {
  id: string;
  /** None: it mutes everything. */
  matchers: Matcher[];
  reason: string;
  /** It mutes nothing; those of the configuration alone. Default false. */
  isDisabled?: boolean;
  /** Epoch milliseconds. */
  startsAt: number;
  endsAt: number;
  /** An alert key: it ends when that is over, which it lets through. `endsAt` is the latest. Absent: it ends then. */
  untilOver?: string;
  createdAt: number;
  /** `configuration`, `page`, `api` or `command`; `an earlier configuration` of one that the file has no more. */
  createdBy: string;
}

/**
 * The name under which deliveries keep what held them back. A mute of the configuration has its id by its place in the file, which
 * another one may have after the next change.
 */
export function keptNameOf({ id, matchers, startsAt, endsAt, createdBy }: Mute): string {
  if (isMadeAtRuntime({ createdBy })) return id;
  return `configuration:${hash("sha256", JSON.stringify([matchers, startsAt, endsAt])).slice(0, 16)}`;
}

/** The others come with the configuration that is in force. */
export function isMadeAtRuntime({ createdBy }: Pick<Mute, "createdBy">): boolean {
  return createdBy !== "configuration";
}

/** Whether a notice says that no alert comes: for the whole hook, for one route, or for one fact `source`. */
export interface SilenceRule {
  of: "hook" | "route" | "source";
  /** The name of the route or the source. */
  name?: string;
  /** Milliseconds; `auto`: when it lasts longer than what is usual at these hours. */
  after: number | "auto";
}

export interface Rules {
  destinations: Destination[];
  routes: Route[];
  /** Mutes of the configuration; those made at run time are in the store. */
  mutes: Mute[];
  /** Default: none. */
  inhibit?: Inhibition[];
  /** Names of destinations that canaries go to. Default: none. */
  canaryTo?: string[];
}

/**
 * `damped`: it does not ring there, and is counted. `contained`: the message of another alert shows this one as well, one of
 * the same request or one that was over before.
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

/** One line of "what was decided and why" for one alert; stored, shown on the page and by `explain`. */
export interface Decision {
  route: string;
  /** Absent when the route did not match. */
  destination?: string;
  result: (typeof decisionResults)[number];
  /** For people: "severity is critical", "value 3 is not above 5", "muted until 12:00: maintenance". */
  reason: string;
  muteId?: string;
  /** It stands for each route that did not take the alert: of the routes that are kept by this name, see `createKeptRoutes`. */
  routes?: string;
}

/** Whether no route was asked: the message of another alert of the same request shows it. A told end has a destination. */
export function isShownByOther(decisions: readonly Pick<Decision, "result" | "destination">[]): boolean {
  return decisions.some(({ result, destination }) => result === "contained" && destination === undefined);
}

/** The routes that matched an alert, wherever it went or did not go. A route that did not match names no destination. */
export function routesThatTook(decisions: readonly Decision[]): string[] {
  const took = decisions.filter(({ destination, result }) => destination !== undefined || result === "dropped");
  return [...new Set(took.map(({ route }) => route))];
}

/** What a route wants of a message besides the alert, as it was when the alert was routed. */
export interface MessageExtras {
  /** No sound, where the channel can be silent. */
  silent?: true;
  note?: string;
  /** Its first line, in place of the built-in one. With the facts of the alert filled in, as are `links`. */
  title?: string;
  links?: { label: string; url: string }[];
  /** It is a cause that holds these back. */
  with?: HeldWith;
  /** For what a mute has held back and a person has released: why it is late, "muted until 14:00 CET". */
  late?: string;
}

/** A delivery that routing asks for. The store gives ids. */
export interface PlannedDelivery {
  destination: string;
  channel: ChannelType;
  /** Chat id, mailbox, or for webhooks the destination's name. Never a secret. */
  recipient: string;
  route: string;
  state: "queued" | "muted" | "held";
  reason: string;
  /** When it is to be sent: now, or when what holds it ends. Epoch milliseconds. */
  dueAt: number;
  updates: DeliveryUpdates;
  /** What its message says of the alerts of its key that did not ring. */
  damped?: Damped;
  freshnessMs?: number;
  extras?: MessageExtras;
  fallback?: { to: string; at: number };
  /** For a fallback: why it gets the alert, in words that follow "because". */
  insteadBecause?: string;
  /** For `muted`: the mute that holds it back, see `keptNameOf`. */
  mutedBy?: string;
  /** The rule by which it may be held back. Absent: it is not judged, and what rings later knows nothing of it. */
  ring?: RingRule;
  /** What it may wait for. Absent: nothing. */
  group?: GroupRule;
  /** It goes out in one message with others of this name. */
  groupName?: string;
}

/** As the fallback of a notice: the destinations that can take it are looked for when its time has come. */
export const anyDestination = "*";

/** One delivery for each recipient, since each is accepted or refused on its own. */
export function planDeliveries(
  { name, type }: Destination,
  recipients: string[],
  plan: Omit<PlannedDelivery, "destination" | "channel" | "recipient">,
): PlannedDelivery[] {
  return recipients.map((recipient) => ({ destination: name, channel: type, recipient, ...plan }));
}
