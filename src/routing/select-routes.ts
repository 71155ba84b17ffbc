import type { Route } from "../core/rules.ts";
import type { MatchInput } from "./field-values.ts";
import { compileMatchers } from "./matcher.ts";

/** What became of one route for one alert. `skipped`: it was not asked, because an earlier route ended the search. */
export interface RouteVerdict {
  route: Route;
  result: "matched" | "not_matched" | "skipped";
  reason: string;
}

/** One verdict for each route, in the order of the configuration. */
export type SelectRoutes = (input: MatchInput) => RouteVerdict[];

/**
 * Routes are asked in their order. The first that matches ends the search, unless it says `continue`. Routes marked as
 * default are asked last, wherever they stand, and only when no other route has matched.
 */
export function compileRoutes(routes: Route[]): SelectRoutes {
  const compiled = routes.map((route) => ({ route, match: compileMatchers(route.matchers) }));
  const ordinary = compiled.filter(({ route }) => !route.isDefault);
  const defaults = compiled.filter(({ route }) => route.isDefault);

  return (input) => {
    const verdicts = new Map<Route, RouteVerdict>();
    const first = ask(ordinary, input, verdicts);
    if (first === undefined) ask(defaults, input, verdicts);
    else {
      for (const { route } of defaults) {
        const reason = `the default route is not used: route ${first.name} has matched`;
        verdicts.set(route, { route, result: "not_matched", reason });
      }
    }
    return routes.flatMap((route) => verdicts.get(route) ?? []);
  };
}

interface CompiledRoute {
  route: Route;
  match: ReturnType<typeof compileMatchers>;
}

/** Returns the first route that matched. */
function ask(
  compiled: CompiledRoute[],
  input: MatchInput,
  verdicts: Map<Route, RouteVerdict>,
): Route | undefined {
  let first: Route | undefined;
  let endedBy: Route | undefined;
  for (const { route, match } of compiled) {
    if (endedBy !== undefined) {
      const reason = `not asked: route ${endedBy.name} has matched before it and does not continue`;
      verdicts.set(route, { route, result: "skipped", reason });
      continue;
    }
    const { matched, reason } = match(input);
    const words = matched && route.isDefault ? `no other route has matched; ${reason}` : reason;
    verdicts.set(route, { route, result: matched ? "matched" : "not_matched", reason: words });
    if (!matched) continue;
    first ??= route;
    if (!route.continue) endedBy = route;
  }
  return first;
}
