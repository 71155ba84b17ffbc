import { z } from "zod";
import { severities } from "../core/alert.ts";
import type { Destination, Route, UpdatePolicy } from "../core/rules.ts";
import {
  acrossOptions,
  duration,
  field,
  flag,
  listOf,
  oneOf,
  optional,
  readText,
  refuseAt,
  text,
  timeZone,
} from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { linkPattern, readLinkTemplate } from "../matching/fill-link.ts";
import { readTitleTemplate, titlePattern } from "../matching/fill-title.ts";
import { vendorOf } from "../vendors/index.ts";
import { groupSchema, ringingOptions, toRinging } from "./grouping.ts";
import { hoursOptions, match, silenceSetting } from "./sections.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { listEntries, readShape } from "./shape/read-shape.ts";

const updatePolicies: readonly UpdatePolicy[] = ["auto", "edit", "reply", "new"];

/** @param known absent where the configuration is only described: then any text is accepted */
export const destinationName = (known?: readonly string[]) =>
  field(
    (value): string | Refusal => {
      const name = readText("ops")(value);
      if (name instanceof Refusal || known === undefined || known.includes(name)) return name;
      return new Refusal(`there is no destination ${showValue(name)}`, suggestOrList(name, known));
    },
    { type: "string", pattern: "\\S" },
  );

export const routeSchema = (known?: readonly string[]) =>
  z
    .strictObject({
      name: optional(text("critical"), "for decisions on the page", "`route 1` and so on"),
      match: optional(match, "what must hold, as a map or a text; see [below](#match)", "every alert"),
      to: optional(
        listOf(destinationName(known), "the names of destinations, or [] to drop what it takes", { mayBeEmpty: true }),
        "names of destinations",
        "required, or `drop`",
      ),
      drop: optional(flag, "`true`: sent to nobody, on purpose; the same as `to: []`", "`false`"),
      continue: flag
        .prefault(false)
        .describe("the following routes and the default route are asked too; nobody gets an alert twice for it"),
      default: flag
        .prefault(false)
        .describe(
          "`true`: asked last, when every other route that matched continues; one route at most. Unreadable alerts go to it",
        ),
      disabled: flag.prefault(false).describe("`true`: it takes nothing; its decisions say so"),
      activeHours: optional(
        z.strictObject({
          ...hoursOptions,
          timeZone: optional(timeZone, "an IANA name", "that of `defaults`"),
        }),
        "outside of these hours it takes nothing ([more](#active-hours))",
        "always",
      ),
      silent: optional(
        listOf(oneOf(severities), "[info]"),
        "severities that make no sound, where the channel can be silent: `[info]`",
        "none",
      ),
      title: optional(
        field(readTitleTemplate, { type: "string", pattern: titlePattern }),
        "the first line of its messages ([more](messages.md#title))",
        "the built-in one",
      ),
      note: optional(text("call the risk officer above 2 M"), "what its messages and the page say besides", "none"),
      links: optional(
        z.array(
          z.strictObject({
            label: text("Chart"),
            url: field(readLinkTemplate, { type: "string", pattern: linkPattern }),
          }),
        ),
        "`label` and `url` of what its messages and the page lead to ([more](messages.md#note-and-links))",
        "none",
      ),
      updates: oneOf(updatePolicies)
        .prefault("auto")
        .describe(
          "how a later event of the same alert is sent: `edit` changes the first " +
            "message, `reply` answers it, `new` sends a new one, `auto` chooses",
        ),
      fallback: optional(
        z.strictObject({
          to: destinationName(known),
          after: duration("10s", "7d").prefault("10m"),
        }),
        "`to`: a destination that is called when one of this route fails, or has not succeeded `after` this time (10s to 7d); " +
          "it gets the end of what it got, too",
        "none; `after` 10m",
      ),
      silence: silenceSetting
        .prefault("off")
        .describe("a notice when no alert came for this route for this long ([more](configuration.md#silence))"),
      freshness: optional(
        duration("10s", "30d"),
        "an older alert goes into a digest; waits for a group or a cause do not count",
        "no bound",
      ),
      ...ringingOptions,
      group: optional(
        groupSchema,
        "alerts with the same facts go out as one message ([more](ringing.md#group))",
        "each alone",
      ),
    })
    .meta({ anyOf: [{ required: ["to"] }, { required: ["drop"] }] })
    .check(
      acrossOptions((context, isRefused) => {
        if (!isRefused("drop")) refuseHalfDrop(context, known);
        const { to = [], fallback, ...route } = context.value;
        for (const [index, name] of to.entries()) {
          if (to.indexOf(name) === index) continue;
          refuseAt(context, ["to", index], `${showValue(name)} is listed twice`, "remove one of the two");
        }
        if (fallback?.to !== undefined && to.includes(fallback.to)) {
          const message = `${showValue(fallback.to)} gets every alert of this route already`;
          refuseAt(context, ["fallback", "to"], message, "name another destination");
        }
        if (route.activeHours !== undefined && route.silence !== "off") {
          const message = "has no meaning beside activeHours, outside of which no alert comes for the route";
          refuseAt(context, ["silence"], message, "remove one of the two");
        }
        if (route.default && route.continue) {
          const message = "has no meaning for the default route, which is asked last";
          refuseAt(context, ["continue"], message, "remove it");
        }
      }),
    );

type RouteOptions = z.infer<ReturnType<typeof routeSchema>>;

const ofDeliveries = [
  ...["fallback", "freshness", "silent", "title", "note", "links", "updates"],
  ...["again", "rearm", "cooldown", "flapping", "group"],
] as (keyof RouteOptions)[];

/** A missing list is an accident. `to: []` or `drop: true` is a decision. */
function refuseHalfDrop(context: z.core.ParsePayload<RouteOptions>, known: readonly string[] = []): void {
  const route = context.value;
  const { to, drop } = route;
  const example = `to: [${known[0] ?? "desk"}]`;
  if (to === undefined && drop !== true) {
    refuseAt(context, ["to"], "is missing", `write ${example}, or drop: true to send it to nobody`);
  } else if (drop === true && to !== undefined && to.length > 0) {
    const message = "the route names destinations as well, so nobody can know which is meant";
    refuseAt(context, ["drop"], message, "remove drop, or to");
  } else if (drop === false && to?.length === 0) {
    const message = "the route names no destination, so it drops what it takes";
    refuseAt(context, ["drop"], message, `write drop: true, or ${example}`);
  } else if (to === undefined || to.length === 0) {
    for (const option of ofDeliveries) {
      // `auto` is also the value without the option.
      if (route[option] === undefined || route[option] === "auto") continue;
      refuseAt(context, [option], "has no meaning for a route that drops what it takes", "remove it");
    }
  }
}

/** `known`: all written destinations, also those with mistakes, so one mistake is reported once. */
export function buildRoutes(
  values: unknown,
  { known, timeZone, problems }: { known: readonly string[]; timeZone?: string; problems: ProblemList },
): Route[] {
  const schema = routeSchema(known);
  const entries = listEntries(values, "routes", "route", problems);
  const routes = entries.flatMap((value, index) => {
    const path = ["routes", index];
    const options = readShape(schema, value, path, problems);
    return options === undefined ? [] : [{ route: toRoute(options, path, timeZone, problems), index }];
  });
  const written = entries.map((value, index) => writtenIn(value, index, problems));
  refuseSameNames(written, problems);
  refuseSecondDefault(written, problems);
  refuseUnreachable(routes, problems);
  return routes.map(({ route }) => route);
}

function toRoute(options: RouteOptions, path: ConfigPath, zone = "UTC", problems: ProblemList): Route {
  const { name = nameOf(Number(path.at(-1))), match = [], to = [], fallback, freshness, silence } = options;
  return {
    name,
    matchers: match,
    to,
    continue: options.continue,
    isDefault: options.default,
    ...(options.disabled && { isDisabled: true }),
    ...(options.silent && { silent: options.silent }),
    ...(options.title && { title: options.title }),
    ...(options.note && { note: options.note }),
    ...(options.links && { links: options.links }),
    ...(options.activeHours && { activeHours: { timeZone: zone, ...options.activeHours } }),
    updates: options.updates,
    ...(fallback && { fallback: { to: fallback.to, afterMs: fallback.after } }),
    ...(freshness !== undefined && { freshnessMs: freshness }),
    ...toRinging(options),
    ...(options.group && { group: options.group }),
    ...(silence !== "off" && !options.disabled && { silence }),
    definedAt: problems.whereIs(path),
  };
}

type WrittenRoute = ReturnType<typeof writtenIn>;

/** Name and default as in the file, so an entry with other mistakes is compared too. */
function writtenIn(value: unknown, index: number, problems: ProblemList) {
  const { name, default: isDefault, disabled } = Object(value) as Record<string, unknown>;
  return {
    name: (typeof name === "string" && name.trim()) || nameOf(index),
    isDefault: isDefault === true && disabled !== true,
    definedAt: problems.whereIs(["routes", index]),
  };
}

const nameOf = (index: number) => `route ${index + 1}`;

function refuseSameNames(routes: WrittenRoute[], problems: ProblemList): void {
  for (const [index, { name }] of routes.entries()) {
    const first = routes.findIndex((one) => one.name === name);
    if (first === index) continue;
    const message = `${showValue(name)} is also the name of the route at ${routes[first]?.definedAt}`;
    problems.add(["routes", index, "name"], message, "give it another name; decisions name it");
  }
}

function refuseSecondDefault(routes: WrittenRoute[], problems: ProblemList): void {
  const first = routes.findIndex(({ isDefault }) => isDefault);
  for (const [index, { isDefault }] of routes.entries()) {
    if (!isDefault || index === first) continue;
    const message = `the route at ${routes[first]?.definedAt} is the default already`;
    problems.add(
      ["routes", index, "default"],
      message,
      "keep one default route, and list all its destinations under to",
    );
  }
}

/** Refuses a route after one that takes at least the same alerts and does not continue: it would never be asked. */
function refuseUnreachable(routes: { route: Route; index: number }[], problems: ProblemList): void {
  const before: { route: Route; matchers: string[] }[] = [];
  for (const { route, index } of routes) {
    if (route.isDefault || route.isDisabled) continue;
    const matchers = route.matchers.map((matcher) => JSON.stringify(matcher));
    const own = new Set(matchers);
    const wider = before.find((other) => other.matchers.every((matcher) => own.has(matcher)))?.route;
    if (!route.continue && !route.activeHours) before.push({ route, matchers });
    if (wider === undefined) continue;
    const what = wider.matchers.length === 0 ? "every alert" : "every alert that this one would match";
    problems.add(
      ["routes", index],
      `can never match: route ${showValue(wider.name)} (${wider.definedAt}) takes ${what} before it and does not continue`,
      "put this route before that one, or write continue: true there",
      "key",
    );
  }
}

/** Warns of gaps that the author of the routes may have overlooked. */
export function warnOfGaps(routes: Route[], destinations: Destination[], problems: ProblemList): void {
  const working = routes.filter(({ isDisabled }) => !isDisabled);
  const ofAll = working.filter(({ matchers, activeHours }) => matchers.length === 0 && activeHours === undefined);
  const catchAll = ofAll.find((route) => !route.isDefault && !route.continue);
  const defaultRoute = working.find((route) => route.isDefault);
  if (routes.length > 0 && ofAll.length === 0) {
    problems.warn(
      routes[0]?.definedAt ?? "routes",
      "an alert that matches no route is kept and shown on the page, and sent to nobody",
      "add a route with default: true",
    );
  }
  if (catchAll !== undefined && defaultRoute !== undefined) {
    const message = `the default route ${defaultRoute.name} is never used: route ${catchAll.name} takes every alert`;
    problems.warn(defaultRoute.definedAt, message, "remove one of the two, or add match to the other");
  }
  if (routes.length > 0 && routes.every(({ to }) => to.length === 0)) {
    problems.warn(
      routes[0]?.definedAt ?? "routes",
      "every route drops what it takes: alerts are kept and shown on the page, and sent to nobody",
      "name a destination under to",
    );
  }
  const programs = new Set(
    destinations.flatMap(({ name, type }) => (vendorOf(type).can.informsPrograms ? [name] : [])),
  );
  for (const { name, definedAt, group, to } of working) {
    if (group !== undefined && to.every((one) => programs.has(one)))
      problems.warn(definedAt, `group of the route ${name} does nothing: programs get each alert at once`, "remove it");
  }
  const used = new Set(routes.flatMap(({ to, fallback }) => (fallback === undefined ? to : [...to, fallback.to])));
  for (const { name, definedAt, notices } of destinations) {
    if (!used.has(name) && notices !== true)
      problems.warn(definedAt, `no route sends to the destination ${name}`, "name it under to, or remove it");
  }
}
