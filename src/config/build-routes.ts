import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import type { Destination, Route } from "../core/rules.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { routeSchema } from "./schema.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { listEntries, readShape } from "./shape/read-shape.ts";

const defaultFallbackAfterMs = 10 * 60_000;

/**
 * The list `routes:`. `known` are the names that a route may send to: every destination that was written, also those
 * with mistakes of their own, so that one mistake is reported once.
 */
export function buildRoutes(values: unknown, known: readonly string[], problems: ProblemList): Route[] {
  const routes = listEntries(values, "routes", "route", problems).flatMap((value, index) => {
    const route = buildRoute(value, ["routes", index], known, problems);
    return route === undefined ? [] : [{ route, index }];
  });
  refuseSameNames(routes, problems);
  refuseSecondDefault(routes, problems);
  refuseUnreachable(routes, problems);
  return routes.map(({ route }) => route);
}

interface PlacedRoute {
  route: Route;
  index: number;
}

function buildRoute(
  value: unknown,
  path: ConfigPath,
  known: readonly string[],
  problems: ProblemList,
): Route | undefined {
  const options = readShape(routeSchema, value, path, problems);
  // Looked up in what was written, so that a mistake elsewhere in the route hides none here.
  const to = namesAt(value, "to", path);
  const fallbackTo = namesAt(memberOf(value, "fallback"), "to", [...path, "fallback"]);
  refuseUnknown(to, known, problems);
  refuseUnknown(fallbackTo, known, problems);
  for (const fallback of fallbackTo) {
    if (!to.some(({ name }) => name === fallback.name)) continue;
    const message = `${showValue(fallback.name)} gets every alert of this route already`;
    problems.add(fallback.path, message, "name another destination");
  }
  if (options === undefined) return undefined;
  refuseHalfDrop(options, path, known, problems);
  const name = options.name ?? `route ${Number(path.at(-1)) + 1}`;
  if (options.default === true && options.continue === true) {
    problems.add([...path, "continue"], "has no meaning for the default route, which is asked last", "remove it");
  }
  return {
    name,
    matchers: options.match ?? [],
    to: options.to ?? [],
    continue: options.continue ?? false,
    isDefault: options.default ?? false,
    updates: options.updates ?? "auto",
    ...(options.fallback && {
      fallback: { to: options.fallback.to, afterMs: options.fallback.after ?? defaultFallbackAfterMs },
    }),
    ...(options.freshness === undefined ? {} : { freshnessMs: options.freshness }),
    ...(options.silence === undefined || options.silence === "off" ? {} : { silence: options.silence }),
    definedAt: problems.whereIs(path),
  };
}

/** A missing list is an accident, `to: []` or `drop: true` is a decision. */
function refuseHalfDrop(
  options: z.infer<typeof routeSchema>,
  path: ConfigPath,
  known: readonly string[],
  problems: ProblemList,
): void {
  const { to, drop } = options;
  const example = `to: [${known[0] ?? "desk"}]`;
  if (to === undefined && drop !== true) {
    problems.add([...path, "to"], "is missing", `write ${example}, or drop: true to send it to nobody`);
    return;
  }
  const names = to ?? [];
  if (drop === true && names.length > 0) {
    const found = "the route names destinations as well, so nobody can know which is meant";
    problems.add([...path, "drop"], found, "remove drop, or to");
    return;
  }
  if (drop === false && names.length === 0) {
    const found = "the route names no destination, so it drops what it takes";
    problems.add([...path, "drop"], found, `write drop: true, or ${example}`);
    return;
  }
  if (names.length > 0) return;
  for (const option of ["fallback", "freshness", "updates"] as const) {
    if (options[option] === undefined) continue;
    problems.add([...path, option], "has no meaning for a route that drops what it takes", "remove it");
  }
}

interface PlacedName {
  name: string;
  path: ConfigPath;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

/** The texts of an option that takes one or a list. */
function namesAt(owner: unknown, key: string, path: ConfigPath): PlacedName[] {
  const written = memberOf(owner, key);
  const at = [...path, key];
  const places = Array.isArray(written)
    ? written.map((name: unknown, index) => ({ name, path: [...at, index] }))
    : [{ name: written, path: at }];
  return places.flatMap(({ name, path }) => (typeof name === "string" ? [{ name: name.trim(), path }] : []));
}

function refuseUnknown(names: PlacedName[], known: readonly string[], problems: ProblemList): void {
  for (const [index, { name, path }] of names.entries()) {
    const isRepeated = names.findIndex((other) => other.name === name) < index;
    if (!known.includes(name)) {
      problems.add(path, `there is no destination ${showValue(name)}`, suggestOrList(name, known));
    } else if (isRepeated) {
      problems.add(path, `${showValue(name)} is listed twice`, "remove one of the two");
    }
  }
}

function refuseSameNames(routes: PlacedRoute[], problems: ProblemList): void {
  for (const [position, { route, index }] of routes.entries()) {
    const earlier = routes.slice(0, position).find((other) => other.route.name === route.name);
    if (earlier === undefined) continue;
    const message = `${showValue(route.name)} is also the name of the route at ${earlier.route.definedAt}`;
    problems.add(["routes", index, "name"], message, "give it another name; decisions name it");
  }
}

function refuseSecondDefault(routes: PlacedRoute[], problems: ProblemList): void {
  const [first, ...others] = routes.filter(({ route }) => route.isDefault);
  for (const { index } of others) {
    const message = `the route at ${first?.route.definedAt ?? ""} is the default already`;
    problems.add(
      ["routes", index, "default"],
      message,
      "keep one default route, and list all its destinations under to",
    );
  }
}

/** A route after one that takes at least all the same alerts and does not continue is never asked. */
function refuseUnreachable(routes: PlacedRoute[], problems: ProblemList): void {
  const ordinary = routes.filter(({ route }) => !route.isDefault);
  for (const [position, { route, index }] of ordinary.entries()) {
    const wider = ordinary
      .slice(0, position)
      .find((other) => !other.route.continue && takesAllOf(other.route, route))?.route;
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

function takesAllOf(wider: Route, narrower: Route): boolean {
  return wider.matchers.every((matcher) => narrower.matchers.some((other) => isDeepStrictEqual(other, matcher)));
}

/** What a reader of the routes may have overlooked. */
export function warnOfGaps(routes: Route[], destinations: Destination[], problems: ProblemList): void {
  const catchAll = routes.find((route) => route.matchers.length === 0 && !route.isDefault && !route.continue);
  const defaultRoute = routes.find((route) => route.isDefault);
  const takesEverything = routes.some((route) => route.matchers.length === 0);
  if (routes.length > 0 && !takesEverything) {
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
  const used = new Set(routes.flatMap(({ to, fallback }) => (fallback === undefined ? to : [...to, fallback.to])));
  for (const { name, definedAt, notices } of destinations) {
    if (!used.has(name) && notices !== true)
      problems.warn(definedAt, `no route sends to the destination ${name}`, "name it under to, or remove it");
  }
}
