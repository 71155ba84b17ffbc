import type { Route } from "../core/rules.ts";
import { compileMatchers, type MatchInput } from "../matching/judge.ts";
import type { AdviseOnMissing } from "../matching/near-path.ts";

/** What became of one route for one alert. `skipped`: it was not asked, because an earlier route ended the search. */
export interface RouteVerdict {
  route: Route;
  result: "matched" | "not_matched" | "skipped";
  reason: string;
}

/** One verdict for each route, in the order of the configuration. */
export type SelectRoutes = (input: MatchInput) => RouteVerdict[];

/**
 * Routes are asked in their order. The first that matches ends the search, unless it says `continue`: then the search goes
 * on as if it had not matched. Routes marked as default are asked last, wherever they stand, and only when no route has
 * ended the search, so that a copy to an archive keeps no alert from the desk that takes the rest.
 */
export function compileRoutes(routes: Route[], adviseOnMissing?: AdviseOnMissing): SelectRoutes {
  const compiled = routes.map((route) => ({
    route,
    match: compileMatchers(route.matchers, adviseOnMissing),
  }));
  const ordinary = compiled.filter(({ route }) => !route.isDefault);
  const defaults = compiled.filter(({ route }) => route.isDefault);

  return (input) => {
    const verdicts = new Map<Route, RouteVerdict>();
    const { endedBy, passed } = ask(ordinary, input, verdicts, "");
    if (endedBy === undefined) {
      const before =
        passed.length === 0
          ? "no other route has matched; "
          : `only routes that continue have matched (${passed.join(", ")}); `;
      ask(defaults, input, verdicts, before);
    } else {
      for (const { route } of defaults) {
        const reason = `the default route is not used: route ${endedBy.name} has matched`;
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

interface Asked {
  /** The route that matched and does not continue. */
  endedBy?: Route;
  /** Names of the routes that matched and continue. */
  passed: string[];
}

/** `before` goes before the reason of a route that matched. */
function ask(
  compiled: CompiledRoute[],
  input: MatchInput,
  verdicts: Map<Route, RouteVerdict>,
  before: string,
): Asked {
  const passed: string[] = [];
  let endedBy: Route | undefined;
  for (const { route, match } of compiled) {
    if (endedBy !== undefined) {
      const reason = `not asked: route ${endedBy.name} has matched before it and does not continue`;
      verdicts.set(route, { route, result: "skipped", reason });
      continue;
    }
    const { matched, reason } = match(input);
    verdicts.set(route, {
      route,
      result: matched ? "matched" : "not_matched",
      reason: matched ? `${before}${reason}` : reason,
    });
    if (!matched) continue;
    if (route.continue) passed.push(route.name);
    else endedBy = route;
  }
  return { endedBy, passed };
}
